#pragma once
// One client on a WebSocket (PROTOCOL.md section 6): its subscriptions, publishes and answers.
// Messages are taken in order; publishes run side by side, a bounded number of them. Owned by the
// coroutine of run(). Single thread.

#include "api/exchange.hpp"
#include "api/websocket_message.hpp"
#include "base/nursery.hpp"
#include "hub/subscription.hpp"
#include "net/websocket_connection.hpp"

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace streamld::api {

class websocket_session {
public:
    websocket_session(
        services& shard,
        std::unique_ptr<net::websocket_connection> connection,
        own_names names,
        bool is_jsonld
    );
    ~websocket_session();
    websocket_session(const websocket_session&) = delete;
    websocket_session& operator=(const websocket_session&) = delete;

    /// Begins the subscriptions of the handshake's query, then serves until the connection ends or
    /// the caller is cancelled. Throws for a cancellation at most: no HTTP answer could follow.
    boost::asio::awaitable<void> run(std::vector<subscribe_request> at_once);

private:
    struct reader;

    boost::asio::awaitable<void> serve(std::vector<subscribe_request> at_once);
    boost::asio::awaitable<void> begin_at_once(std::vector<subscribe_request> at_once);
    boost::asio::awaitable<void> wait_for_room();
    boost::asio::awaitable<void> take_message();
    boost::asio::awaitable<void> dispatch(const websocket_message& message);
    boost::asio::awaitable<void> subscribe(subscribe_request asked, std::string ref_json);
    boost::asio::awaitable<void> save_offset(const websocket_message& message);
    boost::asio::awaitable<void> begin_publish(const websocket_message& message);
    boost::asio::awaitable<void> publish(store::append_request request, std::string ref_json);
    boost::asio::awaitable<void> read_on(std::shared_ptr<reader> one);
    void unsubscribe(const websocket_message& message);
    void end_reader(const std::string& stream, ending why);
    void look(watchdog::clock::time_point now);
    void send(std::string json);

    services& shard_;
    std::unique_ptr<net::websocket_connection> connection_;
    own_names names_;
    bool is_jsonld_;
    std::map<std::string, std::shared_ptr<reader>, std::less<>> readers_; // By stream.
    nursery jobs_;
    std::size_t publishes_under_way_ = 0;
    wakeup publish_done_;
    wakeup can_answer_; // Watches the way out before any subscription does, so it is served first.
    std::size_t answer_bytes_ = 0; // Pushed since the way out was last ready.
    std::optional<watchdog::clock::time_point> close_at_; // While draining.
    watchdog::member watch_;
};

} // namespace streamld::api
