#pragma once
// One request being answered: what a handler gets. Lives on the session's coroutine while the
// handler runs; everything in it is the shard's. Handlers are rows of api/routes.cpp.

#include "api/open_connections.hpp"
#include "api/parameters.hpp"
#include "api/settings.hpp"
#include "base/watchdog.hpp"
#include "hub/fanout.hpp"
#include "hub/hub.hpp"
#include "hub/publisher.hpp"
#include "metrics/probes.hpp"
#include "net/http_connection.hpp"
#include "store/engine.hpp"

#include <boost/asio/awaitable.hpp>

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace streamld::api {

/// What a shard lends to its sessions; all of it outlives them.
struct services {
    store::engine& engine;
    hub& shard_hub;
    fanout& all_shards;
    publisher& publishes;
    probes& shard_probes;
    turn& shard_turn;
    watchdog& shard_watchdog;
    open_connections& connections;
    const settings& limits;
    std::size_t connections_max;          // Served in full; those beyond are told to come back.
    const std::atomic<bool>& is_draining; // SIGTERM came.
    std::function<std::string()> metrics_text; // Renders /metrics.
    std::function<boost::asio::awaitable<std::size_t>(std::string)>
        subscriptions_of; // A stream's, over all shards.
};

struct exchange {
    services& shard;
    net::http_connection& connection;
    std::string method = {}; // "GET" for HEAD too; `is_head` tells.
    bool is_head = false;
    bool is_surplus = false; // Of a connection beyond connections_max.
    std::string path = {};   // Raw, without the query.
    // The path's variable segments, percent-decoded once: {s}, then {c} or {n}.
    std::vector<std::string> names = {};
    parameters query = {}; // Decoded, checked against the row's known names.
    // "http://host:port" of this server as the client sees it, or --public-url.
    std::string host_url = {};
    // CORS; for every answer to this request.
    std::vector<std::pair<std::string, std::string>> common_headers = {};

    /// The session does this for answers that are returned; whoever begins a stream does it for the
    /// stream's head.
    void dress(net::response& head) const {
        head.headers.insert(head.headers.end(), common_headers.begin(), common_headers.end());
    }

    [[nodiscard]] const net::request& request() const noexcept { return connection.current(); }

    /// What stands behind the `?` of the target, still encoded.
    [[nodiscard]] std::string_view raw_query() const noexcept {
        const auto target = connection.current().target;
        const auto mark = target.find('?');
        return mark == std::string_view::npos ? std::string_view{} : target.substr(mark + 1);
    }

    [[nodiscard]] std::optional<std::string_view> header(std::string_view name) const noexcept {
        return connection.current().find(name);
    }

    [[nodiscard]] store::deadline_t deadline() const {
        return std::chrono::steady_clock::now() + shard.limits.store_timeout;
    }
};

/// The answer, or none where the handler has answered by itself (a stream, an upgrade): the
/// connection is over then.
using handler = boost::asio::awaitable<std::optional<net::response>> (*)(exchange& request);

} // namespace streamld::api
