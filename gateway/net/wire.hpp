#pragma once
// What HTTP and WebSocket share of one connection, and what passes from one to the other at the
// upgrade: the socket, the way out, and one clock for all deadlines. Single thread; owned by the
// connection that speaks. Counts the connection in the probes.

#include "base/watchdog.hpp"
#include "net/connection_limits.hpp"
#include "net/outbox.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>

namespace streamld::net {

/// What a shard lends to each of its connections.
struct connection_context {
    turn& shard_turn;
    watchdog& shard_watchdog;
    probes& shard_probes;
    const connection_limits& limits;
};

/// For reading what nobody wants: one buffer a thread, never kept over an await.
struct scratch {
    static constexpr std::size_t bytes = 64 * 1024;
    [[nodiscard]] static char* get() noexcept;
};

class wire {
public:
    using clock = std::chrono::steady_clock;

    wire(boost::asio::ip::tcp::socket connected, const connection_context& context);
    ~wire();
    wire(const wire&) = delete;
    wire& operator=(const wire&) = delete;

    enum class received { more, left, timed_out };

    /// Waits for bytes and appends at most `bytes_max` of them. Bounded by the deadline.
    boost::asio::awaitable<received> receive(std::string& into, std::size_t bytes_max);

    /// Reads once without waiting and forgets what came.
    struct discarded {
        std::size_t bytes = 0;
        bool has_left = false;
    };

    discarded discard() noexcept;

    /// Past it the socket's operations are cancelled and timed_out() holds until the next set.
    void set_deadline(clock::time_point at) noexcept;

    void set_deadline_in(std::chrono::milliseconds time) noexcept {
        set_deadline(clock::now() + time);
    }

    void clear_deadline() noexcept { set_deadline(clock::time_point::max()); }

    [[nodiscard]] bool has_timed_out() const noexcept { return has_timed_out_; }

    /// As if the deadline had come: a pending operation ends.
    void expire() noexcept;

    /// What is queued goes out, half close, then reading on within the linger limits until the peer
    /// closes: whatever was said is heard, since no reset overtakes it. Then the socket closes.
    boost::asio::awaitable<void> end_gently();

    /// Ends everything at once; pending operations end.
    void abort() noexcept;

    boost::asio::ip::tcp::socket socket;
    outbox out;
    const connection_context context;
    /// Also called at each tick of the watchdog, before a stuck outbox is closed.
    std::function<void(clock::time_point)> on_tick;

private:
    void tick(clock::time_point now);
    boost::asio::awaitable<received> wait_readable();
    boost::asio::awaitable<void> linger();

    clock::time_point deadline_ = clock::time_point::max();
    bool has_timed_out_ = false;
    watchdog::member member_;
};

} // namespace streamld::net
