#pragma once
// The newest frames of one stream in one format on one shard. Takes only what is contiguous;
// anything else is a hint that the store must be read. Bounded by the hub's total of bytes. Single
// thread.

#include "base/wakeup.hpp"
#include "hub/cursor.hpp"
#include "hub/frame.hpp"
#include "store/cursor_verdict.hpp"

#include <cstddef>
#include <deque>
#include <list>
#include <string>
#include <utility>
#include <vector>

namespace streamld {

enum class tail_change {
    extended, // The block stands at the end now.
    known,    // Nothing new in it.
    hole,     // Events between the end and the block are missing: read the store.
};

class stream_tail {
public:
    stream_tail(std::string stream, wire_format format)
        : stream_(std::move(stream)), format_(format) {}

    ~stream_tail(); // Nobody follows it any more.
    stream_tail(const stream_tail&) = delete;
    stream_tail& operator=(const stream_tail&) = delete;

    [[nodiscard]] const std::string& stream() const noexcept { return stream_; }

    [[nodiscard]] wire_format format() const noexcept { return format_; }

    /// Says where the end is, as the store knows it. A placed tail only hears of a head it has not
    /// reached (`hole`).
    tail_change place(offset_t head);

    /// Adds at the end. An unplaced tail begins with this block.
    tail_change extend(block_ptr block);

    /// Adds in front, where the block ends right before first().
    bool prepend(block_ptr block);

    /// Forgets the oldest block (there must be one); returns its bytes.
    std::size_t drop_oldest();

    [[nodiscard]] tail_view view() const noexcept;

    [[nodiscard]] bool has_blocks() const noexcept { return !blocks_.empty(); }

    [[nodiscard]] std::size_t memory() const noexcept { return memory_; }

    /// The block that holds `sequence` (which must lie in first..last), and where in it.
    [[nodiscard]] std::pair<const block_ptr*, std::size_t> find(offset_t sequence) const noexcept;
    void add_waiter(wakeup& waiting);
    void remove_waiter(wakeup& waiting) noexcept;

    [[nodiscard]] std::size_t waiter_count() const noexcept { return waiters_.size(); }

    void notify_all() noexcept;

    void close() noexcept; // Cursors send what is left, then finish.

    /// Forgets every frame and stands at `head`: the log moved on past what can be read.
    void restart(offset_t head);

    // Kept by the hub: what is known of the log, and whether a follower is reading for it.
    store::stream_bounds bounds;
    offset_t hinted_head = 0;
    bool is_following = false;
    std::size_t leases = 0;
    std::list<stream_tail*>::iterator
        by_age; // Its place among the tails that hold frames; valid while it has blocks.

private:
    std::string stream_;
    wire_format format_;
    std::deque<block_ptr> blocks_;
    std::vector<wakeup*> waiters_;
    std::size_t memory_ = 0;
    offset_t last_ = 0;
    bool is_placed_ = false;
    bool is_closing_ = false;
};

} // namespace streamld
