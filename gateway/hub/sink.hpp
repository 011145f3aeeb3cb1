#pragma once
// How one transport takes what a subscription has to say. Nothing here waits: a sink queues into
// its connection's outbox and says when it is ready for more. Implemented in delivery/. Single
// thread.

#include "base/wakeup.hpp"
#include "hub/frame.hpp"
#include "hub/gap.hpp"

namespace streamld {

class sink {
public:
    virtual ~sink() = default;

    /// `waiting` is notified when the sink becomes ready again or is gone; once per subscription,
    /// for its life.
    virtual void watch(wakeup& waiting) = 0;
    virtual void unwatch(wakeup& waiting) noexcept = 0;

    /// May frames be given now? One batch (bounded by the loop) is always taken whole.
    [[nodiscard]] virtual bool is_ready() const noexcept = 0;
    /// The peer left or is stuck; nothing reaches it any more.
    [[nodiscard]] virtual bool is_gone() const noexcept = 0;

    /// False once the answer is complete (a long-poll that has its page).
    [[nodiscard]] virtual bool wants_more() const noexcept { return true; }

    virtual void frames(const frame_slice& slice) = 0;
    /// The cursor moved to `scanned`; also past events that the key filter left out.
    virtual void moved(offset_t scanned) = 0;
    /// First frame boundary at which the cursor is the head. At most once.
    virtual void caught_up(offset_t head) = 0;
    virtual void gap(const gap_signal& signal) = 0;
};

} // namespace streamld
