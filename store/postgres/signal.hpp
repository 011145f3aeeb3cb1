#pragma once
// A condition variable for coroutines of one thread. notify() wakes who waits; there is no memory
// of it: look at your condition, then wait, without an await between. A coroutine may be destroyed
// while it waits, also after the signal.

#include "store/engine.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include <list>
#include <memory>
#include <utility>

namespace streamld::store::postgres {

class signal {
public:
    explicit signal(boost::asio::any_io_executor loop) : loop_(std::move(loop)) {}

    signal(const signal&) = delete;
    signal& operator=(const signal&) = delete;

    /// Until the next notify() or the deadline.
    boost::asio::awaitable<void> wait(deadline_t until);
    void notify() noexcept;

private:
    using timers = std::list<boost::asio::steady_timer>;

    boost::asio::any_io_executor loop_;
    // Shared with the waiting coroutines, which take their timers out by themselves.
    std::shared_ptr<timers> waiting_ = std::make_shared<timers>();
};

} // namespace streamld::store::postgres
