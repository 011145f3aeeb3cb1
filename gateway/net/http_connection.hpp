#pragma once
// One HTTP/1.x connection: strict reading with limits and deadlines, answers that are heard even when a body was refused,
// streams, and the hand-over to WebSocket with the bytes already read. Beast is inside only. Driven by one coroutine on
// its shard; nothing here throws except on programming errors.

#include "net/outbox.hpp"
#include "net/request.hpp"
#include "net/response.hpp"
#include "base/watchdog.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>

namespace streamld::net {

class websocket_connection;

struct connection_limits {
    std::size_t head_bytes_max = 64 * 1024;  // Request line and headers: 431 (414 where the target alone is over target_bytes_max).
    std::size_t target_bytes_max = 16 * 1024;
    std::chrono::milliseconds idle_timeout{75'000};  // Between requests; longer than the proxies'.
    std::chrono::milliseconds head_timeout{15'000};  // From the first byte of a head to its end.
    std::chrono::milliseconds body_timeout{60'000};  // Without progress in a body.
    std::chrono::milliseconds body_total_timeout{300'000}; // For a whole body.
    std::chrono::milliseconds write_timeout{60'000}; // A write without progress.
    std::chrono::milliseconds linger_timeout{2'000}; // Reading on behind a refusal, so that it is heard,
    std::size_t linger_bytes_max = std::size_t{64} << 20; // and how much of it.
    std::size_t outbox_high_water = 256 * 1024;
};

/// What a shard lends to each of its connections.
struct connection_context {
    turn& shard_turn;
    watchdog& shard_watchdog;
    probes& shard_probes;
    const connection_limits& limits;
};

enum class head_state {
    ready,   // current() is the next request.
    closed,  // The peer left, or the idle time passed between requests: nothing to say.
    refused, // Malformed, too large or too slow: answer refusal() and close.
};

enum class body_state { ready, too_large, cut, malformed, timed_out };

/// Why a head was refused, for the answer (slug as in PROTOCOL.md section 3).
struct refusal {
    int status = 400;
    std::string slug;
    std::string detail;
};

class http_connection {
public:
    http_connection(boost::asio::ip::tcp::socket socket, const connection_context& context);
    ~http_connection();
    http_connection(const http_connection&) = delete;
    http_connection& operator=(const http_connection&) = delete;

    boost::asio::awaitable<head_state> read_head();
    [[nodiscard]] const request& current() const noexcept;
    [[nodiscard]] const refusal& why_refused() const noexcept;

    /// Reads the current request's body whole (chunked or not); sends `100 Continue` first where it is expected.
    /// Not ready: answer with an error; the connection closes behind it.
    boost::asio::awaitable<body_state> read_body(std::size_t bytes_max);
    [[nodiscard]] std::string& body() noexcept;

    /// Writes a whole answer (no body for HEAD, 204, 304). A request body that was not read makes it `Connection: close`
    /// and a gentle end (half close, read on within the linger limits). True: go on with read_head().
    boost::asio::awaitable<bool> respond(response answer);

    /// Begins a response without a known length: the head leaves at once. `chunked` only where the client speaks 1.1;
    /// otherwise, and when not asked for, the end of the connection ends the body. From here on the reading side is
    /// watched: the peer's leaving closes the outbox. Frees the parser and its buffers.
    void begin_stream(response head, bool chunked);
    [[nodiscard]] bool is_chunked() const noexcept;
    /// Pushes a body part of a stream (adds chunk framing where chunked).
    void push_body(piece part);
    /// Ends a stream: the last chunk, what is queued goes out, half close, a short linger. Bounded by write_timeout.
    boost::asio::awaitable<void> end_stream();

    [[nodiscard]] outbox& out() noexcept;

    /// No new request is waited for: an idle connection closes now, a busy one behind its answer (`Connection: close`).
    void begin_drain();
    /// Ends everything at once.
    void abort();

    /// The hand-over. Leaves this object empty. Null where the peer left during the handshake.
    /// `subprotocol` is the chosen one or empty. `message_bytes_max`: 1009 beyond.
    boost::asio::awaitable<std::unique_ptr<websocket_connection>>
    upgrade(std::string subprotocol, std::size_t message_bytes_max);

private:
    class impl;
    std::unique_ptr<impl> impl_;
};

} // namespace streamld::net
