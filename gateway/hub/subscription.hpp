#pragma once
// The only delivery loop: a cursor, a tail, a sink. Replay and live are one loop, so there is no
// hand-over. A slow reader stays behind is_ready(); when it comes back the tail may have moved on
// and the next step reads the store. Owned by the coroutine that runs it; single thread.

#include "hub/cursor.hpp"
#include "hub/hub.hpp"
#include "hub/sink.hpp"
#include "metrics/probes.hpp"

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <optional>
#include <string>

namespace streamld {

struct subscription_options {
    std::string key; // Empty: every event.
    std::string
        epoch; // What the reader holds the stream to; filled by the opening where it names none.
    offset_t through = store::offset_max; // Ends (finished) once everything up to here was given.
    bool is_read =
        false; // A range, not a subscription: what was trimmed is left out without a signal.
    transport by = transport::websocket;
};

class subscription {
public:
    /// `lease` is the tail that hub::open() attached; `after` the judged cursor.
    subscription(
        hub& owner, tail_lease lease, offset_t after, sink& to, subscription_options options
    );
    ~subscription();
    subscription(const subscription&) = delete;
    subscription& operator=(const subscription&) = delete;

    /// Delivers until something ends it; returns why. A gap was told to the sink. Counts itself in
    /// the probes.
    boost::asio::awaitable<ending> run();

    /// Ends run() soon with that reason. Any time; the first reason wins.
    void stop(ending why) noexcept;

    [[nodiscard]] offset_t position() const noexcept { return cursor_.position(); }

    /// What this stream's log was known to hold at the last look.
    [[nodiscard]] store::stream_bounds bounds() const;

private:
    boost::asio::awaitable<ending> loop();
    boost::asio::awaitable<std::optional<ending>> take_page();
    boost::asio::awaitable<std::optional<ending>> wait_out(store::errc fault);
    void send_from_tail();
    void give(const block_ptr& block, std::size_t from);
    [[nodiscard]] std::optional<store::verdict> lost_in(const frame_page& page) const;
    ending tell_gap(store::verdict why, const store::stream_bounds& bounds);

    hub& hub_;
    tail_lease tail_;
    sink& sink_;
    subscription_options options_;
    cursor cursor_;
    wakeup wakeup_;
    std::optional<ending> stopped_;

    /// Reads of the store fail since then.
    struct outage {
        explicit outage(std::chrono::steady_clock::time_point began) : since(began) {}

        std::chrono::steady_clock::time_point since;
        std::chrono::milliseconds pause{50}; // Doubled before the next try.
    };

    std::optional<outage> outage_;
    bool was_caught_up_ = false;
};

} // namespace streamld
