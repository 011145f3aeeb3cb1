#include "base/wakeup.hpp"

#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/assert.hpp>

#include <utility>

namespace streamld {

namespace asio = boost::asio;
using boost::system::error_code;

namespace {

template <typename Handler>
class coroutine_waiter final : public wakeup::waiter {
public:
    coroutine_waiter(Handler handler, asio::io_context& loop)
        : handler_(std::move(handler)), work_(loop.get_executor()) {}

    void complete(error_code ec) override {
        auto slot = asio::get_associated_cancellation_slot(handler_);
        if (slot.is_connected()) slot.clear();
        auto handler = std::move(handler_);
        // On the loop's own stack: the turn called us, so the coroutine may run right here.
        std::move(handler)(ec);
    }

private:
    Handler handler_;
    // Who only waits for a notify must not let io_context::run() return.
    asio::executor_work_guard<asio::io_context::executor_type> work_;
};

} // namespace

wakeup::wakeup(turn& owner) noexcept : turn_(owner), task_(&wakeup::resume, this) {}

wakeup::~wakeup() {
    BOOST_ASSERT(!waiter_);
}

void wakeup::notify() noexcept {
    is_notified_ = true;
    if (waiter_) turn_.soon(task_);
}

asio::awaitable<void> wakeup::wait() {
    if (is_notified_) {
        is_notified_ = false;
        co_return;
    }
    auto initiate = [this](auto handler) {
        auto slot = asio::get_associated_cancellation_slot(handler);
        if (slot.is_connected()) {
            slot.assign([this](asio::cancellation_type type) {
                if ((type & asio::cancellation_type::terminal) != asio::cancellation_type::none) {
                    cancel();
                }
            });
        }
        using waiter_type = coroutine_waiter<decltype(handler)>;
        wait_with(std::make_unique<waiter_type>(std::move(handler), turn_.loop()));
    };
    co_await asio::async_initiate<const asio::use_awaitable_t<>&, void(error_code)>(
        initiate, asio::use_awaitable
    );
}

void wakeup::wait_with(std::unique_ptr<waiter> waiting) {
    BOOST_ASSERT(!waiter_);
    waiter_ = std::move(waiting);
    if (is_notified_) turn_.soon(task_);
}

void wakeup::abandon() noexcept {
    waiter_.reset();
}

void wakeup::cancel() noexcept {
    if (!waiter_) return;
    turn_.soon(task_);
}

void wakeup::resume(void* self) noexcept {
    auto& that = *static_cast<wakeup*>(self);
    if (!that.waiter_) return;
    const auto waiting = std::move(that.waiter_);
    const auto ec = that.is_notified_ ? error_code{} : error_code{asio::error::operation_aborted};
    that.is_notified_ = false;
    // The last touch of this object: the coroutine may destroy it.
    waiting->complete(ec);
}

} // namespace streamld
