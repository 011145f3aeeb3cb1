#include "net/listener.hpp"

#include "base/log.hpp"
#include "base/nothrow.hpp"

#include <boost/asio/error.hpp>
#include <boost/system/system_error.hpp>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <fcntl.h>
#include <sys/socket.h>
#include <utility>

namespace streamld::net {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using std::chrono::milliseconds;

namespace {

constexpr milliseconds full_house_pause{20};
constexpr milliseconds failure_pause_min{100};
constexpr milliseconds failure_pause_max{1'000};
constexpr std::chrono::minutes telling_interval{1};

// Asio does not ask for it, and a program started by us has no business with our sockets.
void close_on_exec(int descriptor) noexcept {
    ::fcntl(descriptor, F_SETFD, FD_CLOEXEC);
}

// The peer left while it waited, or the network had something to say about it: nothing is wrong
// with us.
bool is_of_the_peer(const error_code& ec) {
    const int code = ec.value();
    return code == ECONNABORTED || code == ECONNRESET || code == EINTR || code == EPROTO ||
           code == ENETDOWN || code == EHOSTDOWN || code == EHOSTUNREACH || code == ENETUNREACH ||
           code == ENOPROTOOPT || code == EPERM;
}

} // namespace

tcp::endpoint claim_endpoint(tcp::endpoint wanted) {
    // Without SO_REUSEPORT the kernel refuses a port on which anybody listens, even who would share
    // it.
    asio::io_context loop;
    tcp::acceptor probe{loop};
    probe.open(wanted.protocol());
    probe.set_option(tcp::acceptor::reuse_address(true));
    probe.bind(wanted);
    probe.listen(1);
    return probe.local_endpoint();
}

listener::listener(
    asio::io_context& loop, const tcp::endpoint& at, std::size_t connections_max, probes& counters
)
    : acceptor_(loop), pause_(loop), connections_max_(connections_max), probes_(counters) {
    acceptor_.open(at.protocol());
    acceptor_.set_option(tcp::acceptor::reuse_address(true));
    const int on = 1;
    if (::setsockopt(acceptor_.native_handle(), SOL_SOCKET, SO_REUSEPORT, &on, sizeof on) != 0) {
        throw boost::system::system_error{errno, boost::system::system_category(), "SO_REUSEPORT"};
    }
    close_on_exec(acceptor_.native_handle());
    acceptor_.bind(at);
    acceptor_.listen();
}

asio::awaitable<void> listener::run(handler accepted) {
    auto failure_pause = failure_pause_min;
    while (acceptor_.is_open()) {
        if (probes_.connections() >= connections_max_) {
            co_await pause(full_house_pause);
            continue;
        }
        auto result = co_await acceptor_.async_accept(nothrow);
        auto& [ec, socket] = result;
        if (!ec) {
            failure_pause = failure_pause_min;
            hand_over(accepted, std::move(socket));
            continue;
        }
        if (ec == asio::error::operation_aborted || !acceptor_.is_open()) break;
        if (is_of_the_peer(ec)) continue;
        probes_.accept_failed();
        tell_of_failure(ec);
        // Out of descriptors or memory: the listener stays readable, so going on at once would
        // spin.
        co_await pause(failure_pause);
        failure_pause = std::min(failure_pause * 2, failure_pause_max);
    }
}

asio::awaitable<void> listener::pause(milliseconds time) {
    pause_.expires_after(time);
    // Cut short by stop(); the caller looks whether it still listens.
    co_await pause_.async_wait(nothrow);
}

void listener::tell_of_failure(const error_code& ec) {
    const auto now = std::chrono::steady_clock::now();
    if (told_at_ != std::chrono::steady_clock::time_point{} && now - told_at_ < telling_interval) {
        return;
    }
    told_at_ = now;
    log::write(
        log::level::warning,
        "net",
        "cannot accept connections; trying on",
        {{"error", ec.message()}}
    );
}

void listener::hand_over(const handler& accepted, tcp::socket socket) {
    try {
        close_on_exec(socket.native_handle());
        accepted(std::move(socket));
    } catch (const std::exception& fault) {
        // One connection is lost, not the listener.
        log::write(log::level::error, "net", "connection not served", {{"error", fault.what()}});
    }
}

void listener::stop() {
    error_code ignored;
    acceptor_.close(ignored);
    pause_.cancel();
}

} // namespace streamld::net
