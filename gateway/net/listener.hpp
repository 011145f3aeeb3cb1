#pragma once
// Accepts on one shard. Shards share the port by SO_REUSEPORT; a port that another process has is
// refused all the same. Backs off on EMFILE and ENFILE instead of spinning (one log line a minute).
// Single thread.

#include "metrics/probes.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <cstddef>
#include <functional>

namespace streamld::net {

/// Throws boost::system::system_error where another process listens there, or the address is not
/// ours. Port 0 is replaced by a free one.
[[nodiscard]] boost::asio::ip::tcp::endpoint claim_endpoint(boost::asio::ip::tcp::endpoint wanted);

class listener {
public:
    /// Binds with SO_REUSEPORT and listens. Throws boost::system::system_error.
    listener(
        boost::asio::io_context& loop,
        const boost::asio::ip::tcp::endpoint& at,
        std::size_t connections_max,
        probes& counters
    );

    using handler = std::function<void(boost::asio::ip::tcp::socket)>;

    /// Accepts until stop(). Over connections_max (as the probes count them) new ones wait in the
    /// backlog.
    boost::asio::awaitable<void> run(handler accepted);

    void stop();

    [[nodiscard]] boost::asio::ip::tcp::endpoint local_endpoint() const {
        return acceptor_.local_endpoint();
    }

private:
    boost::asio::awaitable<void> pause(std::chrono::milliseconds time);
    void tell_of_failure(const boost::system::error_code& ec);
    void hand_over(const handler& accepted, boost::asio::ip::tcp::socket socket);

    boost::asio::ip::tcp::acceptor acceptor_;
    boost::asio::steady_timer pause_;
    std::size_t connections_max_;
    probes& probes_;
    std::chrono::steady_clock::time_point told_at_{};
};

} // namespace streamld::net
