#pragma once
// A shard's door for publishes: bounded, counted, timed; refuses while the gateway drains. The
// engine's writer makes many of them one commit. Single thread.

#include "metrics/probes.hpp"
#include "store/engine.hpp"

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <cstddef>

namespace streamld {

class publisher {
public:
    publisher(
        store::engine& log, probes& counters, std::chrono::milliseconds publish_timeout
    ) noexcept
        : engine_(log), probes_(counters), publish_timeout_(publish_timeout) {}

    /// Returns once durable. Throws store::error; `closed` while draining.
    boost::asio::awaitable<store::append_outcome> publish(store::append_request request);

    void begin_drain() noexcept { is_draining_ = true; }

    [[nodiscard]] std::size_t under_way() const noexcept { return under_way_; }

private:
    store::engine& engine_;
    probes& probes_;
    std::chrono::milliseconds publish_timeout_;
    std::size_t under_way_ = 0;
    bool is_draining_ = false;
};

} // namespace streamld
