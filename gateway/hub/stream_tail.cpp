#include "hub/stream_tail.hpp"

#include <boost/assert.hpp>

#include <algorithm>

namespace streamld {

stream_tail::~stream_tail() {
    BOOST_ASSERT(waiters_.empty());
}

tail_change stream_tail::place(offset_t head) {
    if (!is_placed_) {
        is_placed_ = true;
        last_ = head;
        return tail_change::extended;
    }
    return head > last_ ? tail_change::hole : tail_change::known;
}

tail_change stream_tail::extend(block_ptr block) {
    if (!is_placed_) {
        is_placed_ = true;
        last_ = block->first() - 1;
    }
    if (block->last() <= last_) return tail_change::known;
    if (block->first() != last_ + 1) return tail_change::hole;
    last_ = block->last();
    memory_ += block->memory();
    blocks_.push_back(std::move(block));
    return tail_change::extended;
}

bool stream_tail::prepend(block_ptr block) {
    if (!is_placed_ || block->last() + 1 != view().first) return false;
    memory_ += block->memory();
    blocks_.push_front(std::move(block));
    return true;
}

std::size_t stream_tail::drop_oldest() {
    const std::size_t freed = blocks_.front()->memory();
    blocks_.pop_front();
    memory_ -= freed;
    return freed;
}

void stream_tail::restart(offset_t head) {
    blocks_.clear();
    memory_ = 0;
    last_ = head;
    is_placed_ = true;
}

tail_view stream_tail::view() const noexcept {
    tail_view seen;
    seen.is_placed = is_placed_;
    seen.last = last_;
    seen.first = blocks_.empty() ? last_ + 1 : blocks_.front()->first();
    seen.is_closing = is_closing_;
    return seen;
}

std::pair<const block_ptr*, std::size_t> stream_tail::find(offset_t sequence) const noexcept {
    // Readers near the end are the rule: look there first.
    if (blocks_.back()->first() <= sequence)
        return {&blocks_.back(), static_cast<std::size_t>(sequence - blocks_.back()->first())};
    const auto behind = std::upper_bound(
        blocks_.begin(),
        blocks_.end(),
        sequence,
        [](offset_t wanted, const block_ptr& block) { return wanted < block->first(); }
    );
    const block_ptr& block = *std::prev(behind);
    return {&block, static_cast<std::size_t>(sequence - block->first())};
}

void stream_tail::add_waiter(wakeup& waiting) {
    waiters_.push_back(&waiting);
}

void stream_tail::remove_waiter(wakeup& waiting) noexcept {
    const auto at = std::find(waiters_.begin(), waiters_.end(), &waiting);
    if (at == waiters_.end()) return;
    *at = waiters_.back();
    waiters_.pop_back();
}

void stream_tail::notify_all() noexcept {
    for (wakeup* const waiting : waiters_)
        waiting->notify();
}

void stream_tail::close() noexcept {
    is_closing_ = true;
    notify_all();
}

} // namespace streamld
