#include "base/nursery.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_state.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/assert.hpp>
#include <boost/system/system_error.hpp>

#include <utility>

namespace streamld {

namespace asio = boost::asio;

struct nursery::child {
    std::string_view name;
    asio::cancellation_signal signal;
};

namespace {

bool is_cancellation(const std::exception_ptr& fault) {
    try {
        std::rethrow_exception(fault);
    } catch (const boost::system::system_error& error) {
        return error.code() == asio::error::operation_aborted;
    } catch (...) {
        return false;
    }
}

} // namespace

nursery::nursery(turn& owner, failure_handler on_failure)
    : turn_(owner), on_failure_(std::move(on_failure)), empty_(owner) {}

nursery::~nursery() {
    BOOST_ASSERT(children_.empty());
}

void nursery::spawn(std::string_view name, asio::awaitable<void> child_body) {
    children_.emplace_front();
    const auto place = children_.begin();
    place->name = name;
    auto ended = [this, place](std::exception_ptr fault) {
        const auto child_name = place->name;
        children_.erase(place);
        if (fault && !is_cancellation(fault) && on_failure_) on_failure_(child_name, fault);
        if (children_.empty()) empty_.notify();
    };
    asio::co_spawn(
        turn_.loop(),
        std::move(child_body),
        asio::bind_cancellation_slot(place->signal.slot(), std::move(ended))
    );
}

void nursery::cancel() {
    for (auto each = children_.begin(); each != children_.end();) {
        auto& signalled = *each++;
        signalled.signal.emit(asio::cancellation_type::terminal);
    }
}

asio::awaitable<void> nursery::join() {
    while (!children_.empty()) {
        co_await empty_.wait();
    }
}

asio::awaitable<bool> nursery::join_though_cancelled() {
    co_await asio::this_coro::throw_if_cancelled(false);
    while (!children_.empty()) {
        try {
            co_await empty_.wait();
        } catch (const boost::system::system_error&) {
            // Cancelled: the children are still there, so it waits on.
        }
    }
    const asio::cancellation_state state = co_await asio::this_coro::cancellation_state;
    co_return state.cancelled() != asio::cancellation_type::none;
}

asio::awaitable<bool> nursery::join_until(std::chrono::steady_clock::time_point deadline) {
    asio::steady_timer alarm{turn_.loop(), deadline};
    alarm.async_wait([this](boost::system::error_code ec) {
        // Cancelled when this coroutine has ended: the nursery may be gone.
        if (!ec) empty_.notify();
    });
    while (!children_.empty() && std::chrono::steady_clock::now() < deadline) {
        co_await empty_.wait();
    }
    co_return children_.empty();
}

} // namespace streamld
