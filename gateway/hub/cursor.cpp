#include "hub/cursor.hpp"

#include <algorithm>

namespace streamld {

step cursor::next(const tail_view& tail) const noexcept {
    if (position_ >= through_) return step::finish;
    if (!tail.is_placed) return tail.is_closing ? step::finish : step::read_page;
    if (position_ >= tail.last) return tail.is_closing ? step::finish : step::wait_for_more;
    if (position_ >= tail.first - 1) return step::send_frames;
    // While draining, a reader far behind goes on elsewhere from its cursor: reading history would
    // hold up the end.
    return tail.is_closing ? step::finish : step::read_page;
}

void cursor::advance(offset_t to) noexcept {
    position_ = std::max(position_, to);
}

} // namespace streamld
