#include "base/watchdog.hpp"

#include <utility>

namespace streamld {

watchdog::member::member(watchdog& owner, std::function<void(clock::time_point)> look)
    : look_(std::move(look)) {
    owner.members_.push_back(*this);
    owner.arm();
}

watchdog::watchdog(boost::asio::io_context& loop, std::chrono::milliseconds period)
    : timer_(loop), period_(period) {}

void watchdog::stop() {
    is_stopped_ = true;
    timer_.cancel();
}

void watchdog::arm() {
    if (is_armed_ || is_stopped_ || members_.empty()) return;
    is_armed_ = true;
    timer_.expires_after(period_);
    timer_.async_wait([this](boost::system::error_code ec) {
        // Cancelled by stop() or by the destructor: then `this` may be gone.
        if (ec) return;
        is_armed_ = false;
        tick();
        arm();
    });
}

void watchdog::tick() {
    const auto now = clock::now();
    for (auto each = members_.begin(); each != members_.end() && !is_stopped_;) {
        auto& looked_at = *each++;
        looked_at.look_(now);
    }
}

} // namespace streamld
