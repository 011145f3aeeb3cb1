#pragma once
// Waits until libpq's socket can be read or written. libpq owns the socket; this only watches it,
// and must be told to let go before libpq closes it. One loop, one thread, one waiting coroutine.

#include "store/engine.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <memory>

namespace streamld::store::postgres {

class socket_watch {
public:
    enum class interest { read, write, both };

    explicit socket_watch(boost::asio::any_io_executor loop);
    socket_watch(const socket_watch&) = delete;
    socket_watch& operator=(const socket_watch&) = delete;
    ~socket_watch(); // Lets go.

    /// Lets go of the former socket and watches this one.
    void watch(int socket);

    /// Must come before the socket's number can be used again, so with no await between. Wakes the
    /// waiting coroutine.
    void release() noexcept;

    /// True when the socket is ready or was let go, false when the time is over; that comes first.
    /// May be early: ask libpq again.
    boost::asio::awaitable<bool> wait(interest what, deadline_t until);

private:
    struct state;

    boost::asio::any_io_executor loop_;
    std::shared_ptr<state> state_; // Also held by the waiting coroutine.
};

} // namespace streamld::store::postgres
