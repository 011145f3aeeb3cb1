#pragma once
// Group commit on Postgres. append() is called from any thread; everything else is the engine's
// loop. What waits goes together into one transaction of the main lane, which waits for nobody's
// lock: a stream that another transaction holds moves to the held lanes, with all its publishes,
// and delays only itself. It comes back when its queue there is empty.

#include "store/open_store.hpp"
#include "store/postgres/engine_loop.hpp"
#include "store/postgres/group_commit.hpp"
#include "store/postgres/held_streams.hpp"
#include "store/postgres/pool.hpp"

#include <atomic>
#include <mutex>

namespace streamld::store::postgres {

class appender {
public:
    struct pools {
        pool& writers;    // The main lane's.
        pool& waiters;    // One for each held lane.
        pool& background; // For a look at who holds a lock.
    };

    appender(
        engine_loop& loop,
        pools from,
        const open_options& options,
        store_observer& observer,
        write_health& health,
        group_commit::actions what
    );

    /// Throws errc::busy where too much waits or the deadline passes first.
    boost::asio::awaitable<append_outcome> append(checked_append publish, deadline_t deadline);

    void start();

    /// Takes nothing new, finishes what is accepted; the lanes then end. Any thread first, then the
    /// loop.
    void refuse_new() noexcept;
    void close() noexcept;

    [[nodiscard]] std::size_t waiting() const noexcept {
        return counts_.publishes.load(std::memory_order_relaxed);
    }

    [[nodiscard]] std::size_t held_streams_now() const noexcept { return held_.count(); }

private:
    void push(pending_ptr next);
    [[nodiscard]] bool is_full(std::size_t bytes) const noexcept;
    void take_inbox();
    void change_over();
    boost::asio::awaitable<void> serve_groups();
    boost::asio::awaitable<lease> writer();
    boost::asio::awaitable<void> expire();

    engine_loop& loop_;
    const open_options options_;
    write_health& health_;
    pool& writers_;
    append_counts counts_; // Before what holds publishes.
    group_commit commit_;

    std::mutex mutex_;
    append_list inbox_;
    bool is_wake_posted_ = false;
    bool is_refusing_ = false;

    // The loop's only.
    append_queue queue_;
    signal changed_;
    signal expiring_; // The expiry's own, so that a busy door does not wake it.
    held_streams held_;
    bool is_expiry_idle_ = false;
    bool is_closing_ = false;
};

} // namespace streamld::store::postgres
