#pragma once
// One subscription's way into a WebSocket: shared pre-framed events, and its own few words. Single
// thread.

#include "hub/sink.hpp"
#include "net/websocket_connection.hpp"

#include <string>

namespace streamld {

class websocket_sink final : public sink {
public:
    /// `ref_json`: the SubscriptionRequest's ref as JSON text; empty: it had none and gets no
    /// CaughtUp.
    websocket_sink(
        net::websocket_connection& connection,
        std::string stream,
        std::string ref_json,
        bool is_jsonld
    )
        : connection_(connection), stream_(std::move(stream)), ref_json_(std::move(ref_json)),
          is_jsonld_(is_jsonld) {}

    void watch(wakeup& waiting) override { connection_.out().watch(waiting); }

    void unwatch(wakeup& waiting) noexcept override { connection_.out().unwatch(waiting); }

    [[nodiscard]] bool is_ready() const noexcept override { return connection_.out().is_ready(); }

    [[nodiscard]] bool is_gone() const noexcept override { return connection_.out().is_closed(); }

    void frames(const frame_slice& slice) override;

    void moved(offset_t) override {}

    void caught_up(offset_t head) override;
    void gap(const gap_signal& signal) override;

private:
    net::websocket_connection& connection_;
    std::string stream_;
    std::string ref_json_;
    bool is_jsonld_;
};

} // namespace streamld
