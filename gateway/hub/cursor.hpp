#pragma once
// A position and one question: what next? Pure: no clock, no I/O; tested by plain calls.

#include "store/event.hpp"

namespace streamld {

using store::offset_t;

/// What a tail holds and knows at this moment. The tail's frames are first..last without holes; an
/// empty tail that knows its place has first = last + 1.
struct tail_view {
    bool is_placed = false; // False: nothing is known yet; the store must be read.
    offset_t first = 1;
    offset_t last = 0;
    bool is_closing = false; // The gateway drains.
};

enum class step {
    send_frames,   // The next event is in the tail.
    read_page,     // It is older than the tail: that is catch-up (or the tail knows nothing yet).
    wait_for_more, // At the end of all that is known.
    finish, // Everything asked for was given, or the gateway drains and nothing known is left.
};

class cursor {
public:
    cursor(offset_t position, offset_t through) noexcept : position_(position), through_(through) {}

    [[nodiscard]] step next(const tail_view& tail) const noexcept;

    [[nodiscard]] offset_t position() const noexcept { return position_; }

    [[nodiscard]] offset_t through() const noexcept { return through_; }

    /// Only forward.
    void advance(offset_t to) noexcept;

private:
    offset_t position_;
    offset_t through_; // Nothing beyond is asked for; offset_max: never finishes.
};

} // namespace streamld
