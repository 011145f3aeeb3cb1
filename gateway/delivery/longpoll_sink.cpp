#include "delivery/longpoll_sink.hpp"

namespace streamld {

void longpoll_sink::frames(const frame_slice& slice) {
    for (std::size_t i = slice.from; i < slice.to && count_ < limit_; ++i) {
        if (count_ > 0) items_ += ',';
        items_ += slice.block->bytes(i, i + 1);
        last_ = slice.block->sequence(i);
        ++count_;
    }
}

} // namespace streamld
