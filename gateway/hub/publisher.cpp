#include "hub/publisher.hpp"

#include <boost/scope_exit.hpp>

#include <utility>

namespace streamld {

boost::asio::awaitable<store::append_outcome> publisher::publish(store::append_request request) {
    if (is_draining_) throw store::error{store::errc::closed, "the gateway is shutting down"};
    const auto began = std::chrono::steady_clock::now();
    const std::size_t events = request.events.size();
    ++under_way_;
    BOOST_SCOPE_EXIT_ALL(this) {
        --under_way_;
    };
    try {
        const store::append_outcome outcome =
            co_await engine_.append(std::move(request), began + publish_timeout_);
        if (!outcome.replayed) probes_.published(events);
        probes_.publish_took(std::chrono::steady_clock::now() - began);
        co_return outcome;
    } catch (const store::error&) {
        probes_.publish_refused();
        throw;
    }
}

} // namespace streamld
