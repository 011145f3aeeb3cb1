#pragma once
// One WebSocket (RFC 6455). Beast reads, checks masks and UTF-8, and answers control frames through
// the outbox; texts leave pre-framed by the outbox alone, so nothing lands inside a frame. Pings
// every 20 s, dead after two unanswered; both through the shard's watchdog. One reading coroutine;
// out() may be pushed from anywhere on the shard.

#include "net/outbox.hpp"

#include <boost/asio/awaitable.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace streamld::net {

enum class message_state {
    text,   // A whole text message.
    binary, // Refused: close(1003).
    // The peer closed, left, broke the protocol (answered 1002, 1007, 1009 by itself), or was found
    // dead or stuck; or start_close() was called and its time is over.
    ended,
};

class websocket_connection {
public:
    ~websocket_connection();
    websocket_connection(const websocket_connection&) = delete;
    websocket_connection& operator=(const websocket_connection&) = delete;

    /// The next message. After `ended` nothing more may be read.
    boost::asio::awaitable<message_state> read();
    [[nodiscard]] std::string& message() noexcept;

    /// Frames and queues one text message. Ignored once a close was sent.
    void send_text(std::string_view json);

    [[nodiscard]] outbox& out() noexcept;

    /// Queues a close frame behind what is queued and seals the outbox: a pending read() ends with
    /// the peer's answer, or when its time is over. Any time, once; later calls are ignored.
    void start_close(std::uint16_t code, std::string_view reason);

    /// Why it ended, in one word for the metrics: "client", "protocol", "timeout", "stuck" or
    /// "server"; empty before.
    [[nodiscard]] std::string_view ending() const noexcept;

    /// Sends what is queued and the close frame (1000 where nobody named a code), waits briefly for
    /// the peer's, closes. Bounded. After read() ended, or instead of reading on.
    boost::asio::awaitable<void> finish();

    /// Ends everything at once.
    void abort();

private:
    friend class http_connection;
    class impl;
    explicit websocket_connection(std::unique_ptr<impl> inner);
    std::unique_ptr<impl> impl_;
};

} // namespace streamld::net
