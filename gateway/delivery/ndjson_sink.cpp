#include "delivery/ndjson_sink.hpp"

#include <algorithm>

namespace streamld {

void ndjson_sink::frames(const frame_slice& slice) {
    const std::size_t taken = std::min<std::uint64_t>(slice.size(), left_);
    if (taken == 0) return;
    connection_.push_body(net::piece{
        slice.block, slice.block->bytes(slice.from, slice.from + taken)});
    left_ -= taken;
}

} // namespace streamld
