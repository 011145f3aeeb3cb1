#pragma once
// One text/event-stream response: its first block, its ids over one or several streams, heartbeats
// and its last words. Owned by the coroutine that answers; each of its streams writes through an
// sse_sink. The end of the connection ends the body (PROTOCOL.md section 5). Single thread.

#include "base/watchdog.hpp"
#include "hub/gap.hpp"
#include "hub/sink.hpp"
#include "net/http_connection.hpp"

#include <chrono>
#include <cstddef>
#include <deque>
#include <string>
#include <vector>

namespace streamld {

struct event_stream_options {
    bool is_multiple = false;  // Ids are `a=41&b=7`, the position in all.
    bool has_epoch_id = false; // `41.<epoch>`
    bool is_filtered = false;  // By key: the position moves without events.
    bool is_jsonld = false;
    std::chrono::milliseconds heartbeat{15'000};
};

class event_stream {
public:
    event_stream(
        net::http_connection& connection, watchdog& clock, const event_stream_options& options
    );
    event_stream(const event_stream&) = delete;
    event_stream& operator=(const event_stream&) = delete;

    /// Before begin(), in the order in which ids name them. Returns its index.
    std::size_t add(std::string stream, std::string epoch, offset_t start);

    /// Headers and the first block: `retry:` and the named event `position`.
    void begin(const net::response& head);

    void frames(std::size_t index, const frame_slice& slice);
    void moved(std::size_t index, offset_t scanned);
    void gap(const gap_signal& signal);
    /// What will pass ended it: says when to come back.
    void ask_to_return();

    [[nodiscard]] net::outbox& out() noexcept { return connection_.out(); }

private:
    struct place {
        std::string stream;
        std::string encoded; // As it stands in an id over several streams.
        std::string epoch;
        offset_t cursor = 0;
    };

    void look(watchdog::clock::time_point now);
    void append_id(std::string& out) const;
    void append_position(std::string& out) const;
    void push(std::string_view text);

    net::http_connection& connection_;
    event_stream_options options_;
    std::vector<place> places_;
    bool has_moved_ = false; // Past events that the key left out, since the last id was written.
    std::chrono::milliseconds silence_max_;
    watchdog::member watch_;
};

/// One stream's way into the response.
class sse_sink final : public sink {
public:
    sse_sink(event_stream& response, std::size_t index) noexcept
        : response_(response), index_(index) {}

    void watch(wakeup& waiting) override { response_.out().watch(waiting); }

    void unwatch(wakeup& waiting) noexcept override { response_.out().unwatch(waiting); }

    [[nodiscard]] bool is_ready() const noexcept override { return response_.out().is_ready(); }

    [[nodiscard]] bool is_gone() const noexcept override { return response_.out().is_closed(); }

    void frames(const frame_slice& slice) override { response_.frames(index_, slice); }

    void moved(offset_t scanned) override { response_.moved(index_, scanned); }

    void caught_up(offset_t) override {}

    void gap(const gap_signal& signal) override { response_.gap(signal); }

private:
    event_stream& response_;
    std::size_t index_;
};

/// The headers of every event stream.
[[nodiscard]] net::response event_stream_head();

/// `retry:` in milliseconds, jittered so that clients do not return in one instant.
[[nodiscard]] std::string retry_line(int least, int most);

} // namespace streamld
