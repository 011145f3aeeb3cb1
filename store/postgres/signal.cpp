#include "store/postgres/signal.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace streamld::store::postgres {

namespace {

constexpr auto nothrow = boost::asio::as_tuple(boost::asio::use_awaitable);

/// A timer's place in the list, for as long as its coroutine waits.
class seat {
public:
    using timers = std::list<boost::asio::steady_timer>;

    seat(std::shared_ptr<timers> all, const boost::asio::any_io_executor& loop, deadline_t until)
        : all_(std::move(all)), own_(all_->emplace(all_->end(), loop, until)) {}

    seat(const seat&) = delete;
    seat& operator=(const seat&) = delete;

    ~seat() { all_->erase(own_); }

    [[nodiscard]] boost::asio::steady_timer& timer() const noexcept { return *own_; }

private:
    std::shared_ptr<timers> all_;
    timers::iterator own_;
};

} // namespace

boost::asio::awaitable<void> signal::wait(deadline_t until) {
    const seat own(waiting_, loop_, until);
    // Woken or late: whoever waits looks at its condition anyway.
    co_await own.timer().async_wait(nothrow);
}

void signal::notify() noexcept {
    for (auto& timer : *waiting_)
        timer.cancel();
}

} // namespace streamld::store::postgres
