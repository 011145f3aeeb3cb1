// GET /replication: the handshake of the WebSocket replication binding (PROTOCOL.md section 6).

#include "api/negotiation.hpp"
#include "api/problem.hpp"
#include "api/streaming.hpp"
#include "api/websocket_session.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

namespace streamld::api {

namespace {

constexpr std::size_t message_overhead_max = 64 * 1024; // Around a payload of the greatest size.

/// The first known subprotocol that is offered (a list, perhaps over several lines), or empty.
std::string choose_subprotocol(const net::request& head) {
    for (const net::header_field& field : head.headers) {
        if (lower_case(field.name) != "sec-websocket-protocol") continue;
        std::string_view rest = field.value;
        while (!rest.empty()) {
            std::string_view offered = rest.substr(0, rest.find(','));
            rest.remove_prefix(std::min(rest.size(), offered.size() + 1));
            offered.remove_prefix(std::min(offered.find_first_not_of(" \t"), offered.size()));
            offered = offered.substr(0, offered.find_last_not_of(" \t") + 1);
            if (offered == "streamld" || offered == "streamld.ld+json") return std::string{offered};
        }
    }
    return {};
}

bool names_a_start(const parameters& query) {
    static constexpr std::string_view starts[] = {
        "after", "last", "from", "consumer", "key", "epoch"};
    return std::any_of(std::begin(starts), std::end(starts), [&query](std::string_view name) {
        return query.find(name) != nullptr;
    });
}

std::vector<subscribe_request> read_queries(const exchange& request, const own_names& names) {
    const std::size_t most = request.shard.limits.subscriptions_per_connection_max;
    if (request.query.all("stream").size() > most)
        throw problem{
            "invalid-parameter",
            "one connection follows at most " + std::to_string(most) + " streams"};
    std::vector<subscribe_request> asked;
    std::set<std::string> seen;
    for (const std::string& text : request.query.all("stream")) {
        std::string stream = resolve_stream_name(text, names.host, names.public_url);
        if (!seen.insert(stream).second)
            throw problem{"invalid-parameter", "a stream is named twice"};
        asked.push_back(
            read_subscribe_request(std::move(stream), request.query, store::start_kind::live)
        );
    }
    if (asked.empty() && names_a_start(request.query))
        throw problem{"invalid-parameter", "a start is given, but no stream"};
    return asked;
}

net::response refuse_upgrade(const net::refusal& fault) {
    net::response answer =
        problem{
            fault.status == 426 ? "upgrade-required" : "invalid-request",
            fault.status,
            fault.detail}
            .to_response();
    if (fault.status == 426) {
        answer.set("Upgrade", "websocket");
        answer.set("Sec-WebSocket-Version", "13");
    }
    return answer;
}

} // namespace

boost::asio::awaitable<std::optional<net::response>> answer_replication(exchange& request) {
    own_names names;
    names.host = request.header("Host").value_or("");
    names.public_url = request.shard.limits.public_url;
    std::vector<subscribe_request> at_once = read_queries(request, names);
    if (const auto fault = request.connection.why_no_upgrade()) co_return refuse_upgrade(*fault);
    services& shard = request.shard;
    const std::string subprotocol = choose_subprotocol(request.request());
    const std::size_t message_bytes_max = shard.limits.payload_bytes_max + message_overhead_max;
    std::unique_ptr<net::websocket_connection> connection =
        co_await request.connection.upgrade(subprotocol, message_bytes_max);
    if (!connection) co_return std::nullopt;
    websocket_session session{
        shard, std::move(connection), std::move(names), subprotocol == "streamld.ld+json"};
    co_await session.run(std::move(at_once));
    co_return std::nullopt;
}

} // namespace streamld::api
