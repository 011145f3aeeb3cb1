#pragma once
// The streams whose row another transaction holds, with the publishes that wait for it. A few
// lanes, each with a connection of its own, wait for one stream at a time and for a bounded while,
// so that a stream held for long delays neither the main lane nor, for more than that while,
// another held stream. Publishes past their deadline are refused. The engine's loop.

#include "store/open_store.hpp"
#include "store/postgres/engine_loop.hpp"
#include "store/postgres/group_commit.hpp"
#include "store/postgres/pool.hpp"

#include <atomic>
#include <deque>
#include <map>
#include <string>

namespace streamld::store::postgres {

class held_streams {
public:
    held_streams(
        engine_loop& loop,
        pool& waiters,
        pool& background,
        store_observer& observer,
        write_health& health,
        group_commit& commit,
        const open_options& options
    );

    void start();

    [[nodiscard]] bool holds(const std::string& stream) const { return streams_.contains(stream); }

    /// Found held just now; they go before what holds() made wait meanwhile.
    void add(append_list found);

    /// A publish to a stream that holds().
    void push(pending_ptr next);

    void refuse_late(deadline_t now);

    [[nodiscard]] bool empty() const noexcept { return streams_.empty(); }

    /// What still waits is given half a second more; the lanes end when nothing is left.
    void close() noexcept;

    /// Any thread.
    [[nodiscard]] std::size_t count() const noexcept {
        return count_.load(std::memory_order_relaxed);
    }

private:
    struct held_stream {
        append_queue queue;
        deadline_t since{};
        bool is_reported = false;
    };

    boost::asio::awaitable<void> serve();
    boost::asio::awaitable<bool> attempt(const std::string& stream, held_stream& held);
    boost::asio::awaitable<void> tell_who_holds(std::string stream, int waiting_pid);
    [[nodiscard]] std::chrono::milliseconds patience(const append_list& members) const;
    void finish(const std::string& stream);
    void note_count() noexcept;

    engine_loop& loop_;
    pool& waiters_;
    pool& background_;
    store_observer& observer_;
    write_health& health_;
    group_commit& commit_;
    const open_options& options_;
    std::map<std::string, held_stream> streams_;
    std::deque<std::string> turns_; // Each held stream is here once, or with a lane.
    signal has_turn_;
    std::atomic<std::size_t> count_{0};
    bool is_closing_ = false;
};

} // namespace streamld::store::postgres
