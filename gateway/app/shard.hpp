#pragma once
// One core's worth of gateway: a loop on a thread of its own, its listener, its sessions, its hub.
// Shards share the engine, the fanout and immutable frames, and talk by posting. Built and
// destroyed by the app; everything else is this thread's.

#include "api/exchange.hpp"
#include "api/open_connections.hpp"
#include "app/config.hpp"
#include "base/nursery.hpp"
#include "base/turn.hpp"
#include "base/watchdog.hpp"
#include "hub/fanout.hpp"
#include "hub/hub.hpp"
#include "hub/publisher.hpp"
#include "metrics/probes.hpp"
#include "net/listener.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>

#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <thread>

namespace streamld::app {

/// What the app offers to every shard's handlers.
struct shard_links {
    store::engine& engine;
    fanout& all_shards;
    const std::atomic<bool>& is_draining;
    std::function<std::string()> metrics_text;
    std::function<boost::asio::awaitable<std::size_t>(std::string)> subscriptions_of;
};

class shard {
public:
    shard(const config& settings, const shard_links& links);
    ~shard(); // The thread has ended.
    shard(const shard&) = delete;
    shard& operator=(const shard&) = delete;

    /// How many connections beyond the limit are accepted for one request each.
    [[nodiscard]] static std::size_t surplus_of(std::size_t connections_max);

    /// Binds; throws boost::system::system_error. Before start().
    void listen(const boost::asio::ip::tcp::endpoint& at, std::size_t connections_max);
    void start();

    // The rest is called through co_spawn on loop(), or after the thread ended.

    /// Sessions are asked to leave; the listener stays open to say that the gateway is going.
    void begin_drain();
    /// Waits for the sessions until the deadline; the listener stays open.
    boost::asio::awaitable<void> await_sessions(std::chrono::steady_clock::time_point deadline);
    /// Waits for the sessions until the deadline, cancels what is left, stops listening.
    boost::asio::awaitable<void> finish_sessions(std::chrono::steady_clock::time_point deadline);
    /// Ends every job; the loop then runs dry. After the sessions of all shards, since they ask
    /// each other.
    boost::asio::awaitable<void> finish();
    boost::asio::awaitable<std::size_t> count_readers(std::string stream);
    void join();

    [[nodiscard]] boost::asio::io_context& loop() noexcept { return loop_; }

    [[nodiscard]] const probes& counters() const noexcept { return probes_; }

private:
    void accepted(boost::asio::ip::tcp::socket socket);

    const config& config_;
    boost::asio::io_context loop_{1};
    boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
    turn turn_;
    watchdog watchdog_;
    probes probes_;
    hub hub_;
    publisher publisher_;
    api::open_connections connections_;
    nursery acceptor_jobs_;
    nursery sessions_;
    api::services services_;
    net::connection_context connection_context_;
    std::optional<net::listener> listener_;
    std::thread thread_;
};

} // namespace streamld::app
