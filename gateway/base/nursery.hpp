#pragma once
// Owns coroutines. Every coroutine of the gateway is awaited by its caller or lives in a nursery; a
// nursery cannot be destroyed while a child lives. Children run on the nursery's executor. Single
// thread.

#include "base/wakeup.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_signal.hpp>

#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <list>
#include <string_view>

namespace streamld {

class nursery {
public:
    /// `on_failure` hears of an exception that leaves a child: a bug, or a broken environment; it
    /// is logged once.
    using failure_handler = std::function<void(std::string_view name, std::exception_ptr fault)>;

    nursery(turn& owner, failure_handler on_failure);
    ~nursery(); // Asserts that it is empty.
    nursery(const nursery&) = delete;
    nursery& operator=(const nursery&) = delete;

    /// `name` must be a literal (it is kept as a view).
    void spawn(std::string_view name, boost::asio::awaitable<void> child);

    /// Terminal cancellation of every child.
    void cancel();

    [[nodiscard]] std::size_t size() const noexcept { return children_.size(); }

    /// Returns when no child is left.
    boost::asio::awaitable<void> join();

    /// As join(), for the way out of a coroutine whose children refer to it: a cancellation does
    /// not end it. True if the caller was cancelled, before or meanwhile. Whoever may have been
    /// cancelled before says `co_await this_coro::throw_if_cancelled(false)` first.
    boost::asio::awaitable<bool> join_though_cancelled();

    /// As join(), but gives up at the deadline (looked at through `wake`-ups of the caller's own
    /// timer): true if empty.
    boost::asio::awaitable<bool> join_until(std::chrono::steady_clock::time_point deadline);

private:
    struct child;
    turn& turn_;
    failure_handler on_failure_;
    std::list<child> children_;
    wakeup empty_;
};

} // namespace streamld
