#pragma once
// A range of events, one EventEnvelope a line, in constant memory. At most `limit` of them. Single
// thread.

#include "hub/sink.hpp"
#include "net/http_connection.hpp"

#include <cstdint>

namespace streamld {

class ndjson_sink final : public sink {
public:
    ndjson_sink(net::http_connection& connection, std::uint64_t limit) noexcept
        : connection_(connection), left_(limit) {}

    void watch(wakeup& waiting) override { connection_.out().watch(waiting); }

    void unwatch(wakeup& waiting) noexcept override { connection_.out().unwatch(waiting); }

    [[nodiscard]] bool is_ready() const noexcept override { return connection_.out().is_ready(); }

    [[nodiscard]] bool is_gone() const noexcept override { return connection_.out().is_closed(); }

    [[nodiscard]] bool wants_more() const noexcept override { return left_ > 0; }

    void frames(const frame_slice& slice) override;

    void moved(offset_t) override {}

    void caught_up(offset_t) override {}

    void gap(const gap_signal&) override {
    } // A read leaves out what was trimmed; the numbers show it.

private:
    net::http_connection& connection_;
    std::uint64_t left_;
};

} // namespace streamld
