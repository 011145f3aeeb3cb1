#pragma once
// One HTTP/1.x connection: strict reading with limits and deadlines, answers that are heard even
// when a body was refused, streams, and the hand-over to WebSocket with the bytes already read.
// Beast is inside only. Driven by one coroutine on its shard; nothing here throws except on
// programming errors and on cancellation by the nursery.

#include "net/connection_limits.hpp"
#include "net/outbox.hpp"
#include "net/refusal.hpp"
#include "net/request.hpp"
#include "net/response.hpp"
#include "net/wire.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

namespace streamld::net {

class websocket_connection;

enum class head_state {
    ready,   // current() is the next request.
    closed,  // The peer left, or the idle time passed between requests: nothing to say.
    refused, // Malformed, too large or too slow: answer why_refused() and close.
};

enum class body_state { ready, too_large, cut, malformed, timed_out };

class http_connection {
public:
    http_connection(boost::asio::ip::tcp::socket socket, const connection_context& context);
    ~http_connection();
    http_connection(const http_connection&) = delete;
    http_connection& operator=(const http_connection&) = delete;

    boost::asio::awaitable<head_state> read_head();
    [[nodiscard]] const request& current() const noexcept;
    [[nodiscard]] const refusal& why_refused() const noexcept;

    /// Reads the current request's body whole (chunked or not); sends `100 Continue` first where it
    /// is expected. Not ready: answer with an error; the connection closes behind it.
    boost::asio::awaitable<body_state> read_body(std::size_t bytes_max);
    [[nodiscard]] std::string& body() noexcept;

    /// Writes a whole answer (no body for HEAD, 204, 304). A request body that was not read makes
    /// it `Connection: close` and a gentle end (half close, read on within the linger limits).
    /// True: go on with read_head().
    boost::asio::awaitable<bool> respond(response answer);

    /// Begins a response without a known length: the head leaves at once. `chunked` only where the
    /// client speaks 1.1; otherwise, and when not asked for, the end of the connection ends the
    /// body. From here on the reading side is watched: the peer's leaving closes the outbox. Frees
    /// the parser and its buffers.
    void begin_stream(response head, bool chunked);
    [[nodiscard]] bool is_chunked() const noexcept;
    /// Pushes a body part of a stream (adds chunk framing where chunked; nothing for HEAD).
    void push_body(piece part);
    /// Ends a stream: the last chunk, what is queued goes out, half close, a short linger. Bounded
    /// by write_timeout.
    boost::asio::awaitable<void> end_stream();

    [[nodiscard]] outbox& out() noexcept;

    /// No new request is waited for: an idle connection closes now, a busy one behind its answer
    /// (`Connection: close`).
    void begin_drain();
    /// Before the first read_head(): one request is awaited, and not for long; its answer closes.
    void serve_one_request();

    /// May respond() be called for the current request? Not once a stream has begun, nor after an
    /// upgrade.
    [[nodiscard]] bool takes_answer() const noexcept;

    /// Ends everything at once.
    void abort();

    /// Why the current request may not become a WebSocket (426 or 400), or nothing: upgrade() may
    /// be called.
    [[nodiscard]] std::optional<refusal> why_no_upgrade() const;

    /// The hand-over. Leaves this object empty: it may only be destroyed, or told to abort or drain
    /// in vain. Null where the peer left during the handshake. `subprotocol` is the chosen one or
    /// empty. `message_bytes_max`: 1009 beyond.
    boost::asio::awaitable<std::unique_ptr<websocket_connection>>
    upgrade(std::string subprotocol, std::size_t message_bytes_max);

private:
    class impl;
    std::unique_ptr<impl> impl_;
};

} // namespace streamld::net
