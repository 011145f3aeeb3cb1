#include "net/wire.hpp"

#include "base/nothrow.hpp"

#include <algorithm>
#include <cerrno>
#include <sys/socket.h>
#include <utility>

namespace streamld::net {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

ssize_t read_now(int socket, std::size_t bytes_max) noexcept {
    return ::recv(socket, scratch::get(), bytes_max, MSG_DONTWAIT);
}

// Nothing was read: may something come later?
bool may_come(ssize_t outcome) noexcept {
    return outcome < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
}

} // namespace

char* scratch::get() noexcept {
    static thread_local char buffer[bytes];
    return buffer;
}

wire::wire(tcp::socket connected, const connection_context& lent)
    : socket(std::move(connected)),
      out(socket, lent.shard_turn, lent.shard_probes, lent.limits.outbox_high_water), context(lent),
      member_(lent.shard_watchdog, [this](clock::time_point now) { tick(now); }) {
    error_code ignored; // The peer may be gone already; the first read will tell.
    socket.set_option(tcp::no_delay(true), ignored);
    context.shard_probes.connection_opened();
}

wire::~wire() {
    context.shard_probes.connection_closed();
}

asio::awaitable<wire::received> wire::receive(std::string& into, std::size_t bytes_max) {
    for (;;) {
        // Waiting first, then reading into the thread's buffer: a connection that waits holds none.
        const auto outcome = co_await wait_readable();
        if (outcome != received::more) co_return outcome;
        const auto n = read_now(socket.native_handle(), std::min(bytes_max, scratch::bytes));
        if (n > 0) {
            into.append(scratch::get(), static_cast<std::size_t>(n));
            co_return received::more;
        }
        if (!may_come(n)) co_return received::left;
    }
}

asio::awaitable<wire::received> wire::wait_readable() {
    if (has_timed_out_) co_return received::timed_out;
    const auto [ec] = co_await socket.async_wait(tcp::socket::wait_read, nothrow);
    if (has_timed_out_) co_return received::timed_out;
    co_return ec ? received::left : received::more;
}

wire::discarded wire::discard() noexcept {
    const auto n = read_now(socket.native_handle(), scratch::bytes);
    if (n > 0) return discarded{static_cast<std::size_t>(n), false};
    return discarded{0, !may_come(n)};
}

void wire::set_deadline(clock::time_point at) noexcept {
    deadline_ = at;
    has_timed_out_ = false;
}

void wire::expire() noexcept {
    deadline_ = clock::time_point::max();
    has_timed_out_ = true;
    error_code ignored;
    socket.cancel(ignored);
}

void wire::tick(clock::time_point now) {
    if (now >= deadline_) expire();
    if (on_tick) on_tick(now);
    const auto since = out.stuck_since();
    if (since != clock::time_point::max() && now - since >= context.limits.write_timeout) {
        out.close();
    }
}

asio::awaitable<void> wire::end_gently() {
    const bool all_sent = co_await out.drained();
    out.seal();
    if (all_sent && socket.is_open()) {
        error_code ec;
        socket.shutdown(tcp::socket::shutdown_send, ec);
        if (!ec) co_await linger();
    }
    abort();
}

asio::awaitable<void> wire::linger() {
    const auto end = clock::now() + context.limits.linger_total_timeout;
    std::size_t discarded_bytes = 0;
    while (discarded_bytes < context.limits.linger_bytes_max) {
        set_deadline(std::min(clock::now() + context.limits.linger_timeout, end));
        const auto outcome = co_await wait_readable();
        if (outcome != received::more) break;
        const auto unwanted = discard();
        if (unwanted.has_left) break;
        discarded_bytes += unwanted.bytes;
    }
    clear_deadline();
}

void wire::abort() noexcept {
    out.close();
    error_code ignored;
    socket.close(ignored);
}

} // namespace streamld::net
