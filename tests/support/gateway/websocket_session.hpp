#pragma once
// A WebSocket session that notes the texts it reads, and a client made of raw frames.

#include "base/websocket_frame.hpp"
#include "net/http_connection.hpp"
#include "net/websocket_connection.hpp"
#include "support/gateway/loopback.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace streamld::test {

/// "018a" becomes two bytes.
inline std::string from_hex(std::string_view hex) {
    std::string bytes;
    for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
        bytes.push_back(static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16)));
    }
    return bytes;
}

/// A frame of a client, masked with zeros; payloads below 64 KiB.
inline std::string client_frame(int first_byte, std::string_view payload) {
    std::string frame;
    append_text_frame_header(frame, payload.size());
    frame[0] = static_cast<char>(first_byte);
    frame[1] = static_cast<char>(frame[1] | 0x80);
    frame.append(4, '\0');
    frame += payload;
    return frame;
}

/// What the server sent behind its handshake, taken apart.
struct server_frame {
    int first_byte = 0;
    std::string payload;

    [[nodiscard]] int close_code() const {
        if (payload.size() < 2) return 0;
        return static_cast<unsigned char>(payload[0]) * 256 +
               static_cast<unsigned char>(payload[1]);
    }
};

class websocket_session {
public:
    static constexpr std::size_t message_bytes_max = 1000;

    shard_loop shard;
    net::connection_limits limits;
    loopback peers;
    net::http_connection http;
    std::unique_ptr<net::websocket_connection> socket;
    std::string subprotocol;
    std::vector<std::string> texts;
    bool is_over = false;

    explicit websocket_session(int buffer_bytes = 0)
        : peers(shard, buffer_bytes),
          http(
              std::move(peers.server),
              net::connection_context{shard.shard_turn, shard.dog, shard.counters, limits}
          ) {
        limits.close_timeout = std::chrono::milliseconds{100};
        limits.linger_timeout = std::chrono::milliseconds{100};
        shard.children.spawn("session", serve());
    }

    ~websocket_session() {
        http.abort();
        shard.settle(); // An upgrade under way comes to its end.
        if (socket) socket->abort();
        shard.until([this] { return shard.children.size() == 0; });
    }

    static std::string handshake(std::string_view extra = "Connection: Upgrade\r\n") {
        return "GET /replication HTTP/1.1\r\nHost: h\r\nUpgrade: WebSocket\r\n" +
               std::string(extra) +
               "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
    }

    bool open() {
        return peers.send(handshake()) && peers.until_received("\r\n\r\n") &&
               shard.until([this] { return socket != nullptr; });
    }

    /// All whole frames so far.
    std::vector<server_frame> frames() {
        peers.read();
        const auto head_end = peers.received.find("\r\n\r\n");
        std::vector<server_frame> found;
        if (head_end == std::string::npos) return found;
        std::string_view rest = std::string_view(peers.received).substr(head_end + 4);
        while (rest.size() >= 2) {
            std::size_t length = static_cast<unsigned char>(rest[1]);
            std::size_t head_bytes = 2;
            if (length == 126) {
                head_bytes = 4;
                length = static_cast<unsigned char>(rest[2]) * 256U +
                         static_cast<unsigned char>(rest[3]);
            }
            if (rest.size() < head_bytes + length) break;
            found.push_back(
                {static_cast<unsigned char>(rest[0]), std::string(rest.substr(head_bytes, length))}
            );
            rest.remove_prefix(head_bytes + length);
        }
        return found;
    }

    /// Waits for a frame that begins so.
    bool until_frame(int first_byte) {
        return shard.until([&] { return last_frame(first_byte) != nullptr; });
    }

    const server_frame* last_frame(int first_byte) {
        seen_ = frames();
        for (const auto& each : seen_) {
            if (each.first_byte == first_byte) return &each;
        }
        return nullptr;
    }

    int close_code() {
        const bool has_closed = until_frame(0x88);
        return has_closed ? last_frame(0x88)->close_code() : -1;
    }

    bool until_over() {
        return shard.until([&] {
            peers.read();
            return is_over;
        });
    }

private:
    boost::asio::awaitable<void> serve() {
        const auto state = co_await http.read_head();
        if (state != net::head_state::ready || http.why_no_upgrade()) {
            net::response refused{http.why_no_upgrade() ? http.why_no_upgrade()->status : 400};
            co_await http.respond(std::move(refused));
            co_return;
        }
        std::string chosen = subprotocol;
        socket = co_await http.upgrade(std::move(chosen), message_bytes_max);
        if (!socket) co_return;
        for (;;) {
            const auto message = co_await socket->read();
            if (message == net::message_state::ended) break;
            if (message == net::message_state::binary) {
                socket->start_close(1003, "text only");
                continue;
            }
            texts.push_back(socket->message());
        }
        co_await socket->finish();
        is_over = true;
    }

    std::vector<server_frame> seen_;
};

} // namespace streamld::test
