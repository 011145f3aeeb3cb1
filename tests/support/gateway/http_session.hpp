#pragma once
// A session that echoes what the connection makes of the client's bytes, as the text of its
// answers.

#include "net/http_connection.hpp"
#include "support/gateway/loopback.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace streamld::test {

inline int count_of(std::string_view text, std::string_view part) {
    int count = 0;
    for (auto at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) {
        ++count;
    }
    return count;
}

class http_session {
public:
    shard_loop shard;
    net::connection_limits limits;
    loopback peers;
    net::http_connection connection;
    int status = 200;
    std::size_t padding_bytes = 0;
    std::vector<std::string> seen;

    explicit http_session(int buffer_bytes = 0)
        : peers(shard, buffer_bytes),
          connection(
              std::move(peers.server),
              net::connection_context{shard.shard_turn, shard.dog, shard.counters, limits}
          ) {
        shard.children.spawn("session", serve());
    }

    ~http_session() {
        connection.abort();
        shard.until([this] { return shard.children.size() == 0; });
    }

private:
    static constexpr std::size_t body_bytes_max = 64 * 1024;

    boost::asio::awaitable<void> serve() {
        for (;;) {
            const auto state = co_await connection.read_head();
            if (state == net::head_state::closed) {
                connection.abort();
                co_return;
            }
            auto answer = net::response{status};
            if (state == net::head_state::refused) {
                answer.status = connection.why_refused().status;
                answer.body = connection.why_refused().detail;
            } else {
                const auto body = co_await connection.read_body(body_bytes_max);
                judge(body, answer);
            }
            const bool goes_on = co_await connection.respond(std::move(answer));
            if (!goes_on) co_return;
        }
    }

    void judge(net::body_state state, net::response& answer) {
        static constexpr std::string_view names[] = {
            "ready", "too_large", "cut", "malformed", "timed_out"};
        if (state == net::body_state::ready) {
            const auto& head = connection.current();
            answer.body = std::string(head.method) + " " + std::string(head.target) + " [" +
                          connection.body() + "]";
            seen.push_back(answer.body);
            answer.body += std::string(padding_bytes, '.');
        } else {
            answer.status = state == net::body_state::too_large ? 413 : 400;
            answer.body = names[static_cast<int>(state)];
        }
    }
};

} // namespace streamld::test
