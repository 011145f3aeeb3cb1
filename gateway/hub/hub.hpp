#pragma once
// One shard's view of the logs: its tails, who follows them, and every read of the store on behalf
// of readers. Identical reads under way at the same time are one read (single flight). Single
// thread; owned by the shard.

#include "base/nursery.hpp"
#include "hub/frame.hpp"
#include "hub/stream_tail.hpp"
#include "metrics/probes.hpp"
#include "store/engine.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <cstddef>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace streamld {

class fanout;
class hub;

struct hub_limits {
    std::size_t tail_bytes_max = std::size_t{16} << 20; // All tails of this shard together.
    std::size_t page_events_max = 512;                  // One catch-up read,
    std::size_t page_bytes_max = 128 * 1024;            // and its size; also one batch to a sink.
    std::chrono::milliseconds read_timeout{10'000};
    std::chrono::milliseconds outage_patience{
        60'000};                // Subscriptions outlast a store that is away.
    std::size_t reads_max = 64; // Catch-up reads under way; more wait their turn.
};

/// A share of a tail. The tail lives while one exists. Movable.
class tail_lease {
public:
    tail_lease() = default;
    tail_lease(hub& owner, std::shared_ptr<stream_tail> tail) noexcept;
    tail_lease(tail_lease&& other) noexcept = default;
    tail_lease& operator=(tail_lease&& other) noexcept;
    ~tail_lease();

    [[nodiscard]] stream_tail& operator*() const noexcept { return *tail_; }

    [[nodiscard]] stream_tail* operator->() const noexcept { return tail_.get(); }

    [[nodiscard]] explicit operator bool() const noexcept { return tail_ != nullptr; }

private:
    void release() noexcept;
    hub* hub_ = nullptr;
    std::shared_ptr<stream_tail> tail_;
};

/// How a subscription may begin: the verdict on its cursor, and where it stands.
struct opening {
    tail_lease tail;
    store::verdict verdict = store::verdict::resolvable;
    store::stream_bounds bounds;
    offset_t after = 0;
};

/// A read page as frames.
struct frame_page {
    store::stream_bounds bounds;
    offset_t scanned = 0;
    block_ptr block; // Null where the page holds no event.
};

class hub {
public:
    hub(store::engine& log, fanout& group, turn& owner, probes& counters, hub_limits limits);
    ~hub(); // No lease may be left.
    hub(const hub&) = delete;
    hub& operator=(const hub&) = delete;

    /// Makes this shard known to the fanout; before any traffic, in the order of the shards.
    void join_fanout();

    /// Attaches a tail, finds the position and judges it: by what this shard knows where that says
    /// yes, else by the store. Throws store::error (unavailable, busy, ...).
    boost::asio::awaitable<opening> open(
        std::string stream,
        store::start_point start,
        std::string epoch,
        std::string key,
        wire_format format
    );

    /// A page of frames after `after`, shared with whoever reads the same at the same time. Throws
    /// store::error.
    boost::asio::awaitable<std::shared_ptr<const frame_page>>
    catch_up(stream_tail& tail, offset_t after, offset_t through, std::string key);

    /// What this shard knows of a tail's log at this moment.
    [[nodiscard]] static store::stream_bounds known_bounds(const stream_tail& tail);

    /// How many subscriptions follow a stream on this shard (any thread may not ask: this shard
    /// only).
    [[nodiscard]] std::size_t readers_of(const std::string& stream) const;

    /// What fanout posts here.
    void take_block(const std::string& stream, wire_format format, const block_ptr& block);
    void take_hint(const std::string& stream, offset_t head);
    void look_at_all();
    /// A trim by this process: horizons known here move on.
    void take_horizon(const std::string& stream, offset_t horizon);

    /// Waits; close() cuts it short.
    boost::asio::awaitable<void> pause(std::chrono::milliseconds time);

    /// No more waiting: cursors send what is left, then finish.
    void begin_drain();
    boost::asio::awaitable<void> close();

    [[nodiscard]] const hub_limits& limits() const noexcept { return limits_; }

    [[nodiscard]] turn& shard_turn() noexcept { return turn_; }

    [[nodiscard]] probes& shard_probes() noexcept { return probes_; }

    [[nodiscard]] bool is_draining() const noexcept { return is_draining_; }

private:
    friend class tail_lease;

    struct tail_key {
        std::string stream;
        wire_format format;
        friend auto operator<=>(const tail_key&, const tail_key&) = default;
    };

    struct page_key {
        tail_key tail;
        offset_t after = 0;
        offset_t through = 0;
        std::string key;

        page_key(tail_key of, offset_t from, offset_t to, std::string only)
            : tail(std::move(of)), after(from), through(to), key(std::move(only)) {}

        friend auto operator<=>(const page_key&, const page_key&) = default;
    };
    struct shared_reading;
    struct bounds_reading;
    struct page_reading;

    struct bounds_queue {
        std::shared_ptr<bounds_reading> next; // Whoever asks joins this one; it has not begun.
        bool is_served = false;
    };

    // hub.cpp: tails
    [[nodiscard]] tail_lease attach(const std::string& stream, wire_format format);
    void detach(stream_tail& tail) noexcept;
    void learn(stream_tail& tail, const store::stream_bounds& bounds);
    void hint(stream_tail& tail, offset_t head);
    tail_change add_to_tail(stream_tail& tail, const block_ptr& block);
    void account(stream_tail& tail, std::size_t memory_before, bool had_blocks);
    void restart(stream_tail& tail, const store::stream_bounds& bounds);
    boost::asio::awaitable<void> follow(std::shared_ptr<stream_tail> tail);
    boost::asio::awaitable<bool> follow_once(std::shared_ptr<stream_tail> tail);

    // hub_reads.cpp: reads of the store
    boost::asio::awaitable<store::stream_bounds> fresh_bounds(std::string stream);
    boost::asio::awaitable<void> serve_bounds(std::string stream);
    boost::asio::awaitable<void> finished(std::shared_ptr<shared_reading> reading);
    boost::asio::awaitable<void> fly(page_key identity, std::shared_ptr<stream_tail> tail);
    void keep_page(stream_tail& tail, const frame_page& page, const store::read_request& request);
    boost::asio::awaitable<std::shared_ptr<const frame_page>>
    read_page(std::shared_ptr<stream_tail> tail, store::read_request request);
    boost::asio::awaitable<void> take_read_seat();
    void leave_read_seat() noexcept;
    [[nodiscard]] store::deadline_t read_deadline() const;

    store::engine& engine_;
    fanout& fanout_;
    turn& turn_;
    probes& probes_;
    hub_limits limits_;
    nursery jobs_;
    std::size_t shard_index_ = 0;
    std::map<tail_key, std::shared_ptr<stream_tail>> tails_; // Each as long as it has leases.
    std::map<page_key, std::shared_ptr<page_reading>> page_readings_;
    std::map<std::string, bounds_queue> bounds_queues_;
    std::list<stream_tail*> by_age_; // Tails that hold frames, the one that grew longest ago first.
    std::size_t tail_bytes_ = 0;
    std::size_t reads_under_way_ = 0;
    std::deque<wakeup*> waiting_for_seat_;
    std::list<boost::asio::steady_timer*> pauses_;
    bool is_draining_ = false;
    bool is_closing_ = false;
};

} // namespace streamld
