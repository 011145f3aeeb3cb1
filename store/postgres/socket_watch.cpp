#include "store/postgres/socket_watch.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <utility>

namespace streamld::store::postgres {

namespace {

constexpr auto nothrow = boost::asio::as_tuple(boost::asio::use_awaitable);

using descriptor = boost::asio::posix::stream_descriptor;

} // namespace

// The coroutine waits on the timer, which is the deadline too; readiness cancels it. A wait for the
// socket that nobody needs any more stays armed for the next time.
struct socket_watch::state : std::enable_shared_from_this<state> {
    struct direction {
        bool is_armed = false;
        bool is_ready = false;
    };

    state(const boost::asio::any_io_executor& loop, int number)
        : socket(loop, number), timer(loop) {}

    void arm(direction state::*which, descriptor::wait_type type) {
        if ((this->*which).is_armed) return;
        (this->*which).is_armed = true;
        socket.async_wait(type, [weak = weak_from_this(), which](const boost::system::error_code&) {
            const auto self = weak.lock();
            if (!self) return;
            ((*self).*which).is_armed = false;
            ((*self).*which).is_ready = true;
            self->timer.cancel();
        });
    }

    [[nodiscard]] bool is_ready() const noexcept {
        return reading.is_ready || writing.is_ready || is_released;
    }

    descriptor socket;
    boost::asio::steady_timer timer;
    direction reading;
    direction writing;
    bool is_released = false;
};

socket_watch::socket_watch(boost::asio::any_io_executor loop) : loop_(std::move(loop)) {}

socket_watch::~socket_watch() {
    release();
}

void socket_watch::watch(int socket) {
    release();
    state_ = std::make_shared<state>(loop_, socket);
}

void socket_watch::release() noexcept {
    const auto last = std::exchange(state_, nullptr);
    if (!last) return;
    // Only takes the socket out of the reactor, which no longer finds it there if libpq has closed
    // it.
    last->socket.release();
    last->is_released = true;
    last->timer.cancel();
}

boost::asio::awaitable<bool> socket_watch::wait(interest what, deadline_t until) {
    const auto own = state_;
    if (!own) co_return true;
    if (what != interest::write) own->arm(&state::reading, descriptor::wait_read);
    if (what != interest::read) own->arm(&state::writing, descriptor::wait_write);
    // Readiness and release come from this thread, so none is missed between the look and the wait.
    for (;;) {
        if (std::chrono::steady_clock::now() >= until) co_return false;
        if (own->is_ready()) break;
        own->timer.expires_at(until);
        co_await own->timer.async_wait(nothrow);
    }
    own->reading.is_ready = false;
    own->writing.is_ready = false;
    co_return true;
}

} // namespace streamld::store::postgres
