#include "api/answers.hpp"

#include "api/documents.hpp"
#include "api/negotiation.hpp"
#include "api/problem.hpp"
#include "base/json_string.hpp"

namespace streamld::api {

namespace {

/// `http://h` becomes `ws://h`, `https://h` becomes `wss://h`.
std::string websocket_url(std::string_view host_url) {
    constexpr std::string_view http = "http";
    return "ws" + std::string(host_url.substr(host_url.starts_with(http) ? http.size() : 0));
}

} // namespace

net::response json_answer(int status) {
    net::response answer(status);
    answer.set("Content-Type", "application/json");
    answer.set("Cache-Control", "no-cache");
    answer.set("Link", std::string(context_link));
    return answer;
}

void append_stream(std::string& out, const store::stream_info& info) {
    const auto& bounds = info.bounds;
    json_object object(out);
    object.text("stream", info.stream).text("epoch", bounds.epoch).number("head", bounds.head);
    if (const auto oldest = bounds.oldest_available()) object.number("oldestAvailable", *oldest);
    object.number("count", bounds.head - bounds.horizon).number("createdAt", info.created_at);
    if (info.last_event_at) object.number("lastEventAt", *info.last_event_at);
    object.close();
}

net::response stream_answer(const exchange& request, int status, const store::stream_info& info) {
    auto answer = json_answer(status);
    append_stream(answer.body, info);
    answer.set("ETag", '"' + std::to_string(info.bounds.head) + '"');
    answer.set(
        "Link",
        "</streams/" + percent_encode(info.stream) +
            "/events>; rel=\"https://openfaster.org/streamld#sse\"; type=\"text/event-stream\""
    );
    answer.set(
        "Link",
        '<' + websocket_url(request.host_url) +
            "/replication>; rel=\"https://openfaster.org/streamld#websocket-replication\""
    );
    return answer;
}

std::string accept_of(const net::request& request) {
    std::string accept;
    for (const auto& field : request.headers)
        if (lower_case(field.name) == "accept")
            accept.append(accept.empty() ? "" : ", ").append(field.value);
    return accept;
}

std::optional<std::string_view> single_header(const exchange& request, std::string_view name) {
    if (request.request().count(name) > 1)
        throw problem("invalid-parameter", "header " + std::string(name) + " is given twice");
    return request.header(name);
}

boost::asio::awaitable<std::string> take_body(exchange& request, std::size_t bytes_max) {
    const auto state = co_await request.connection.read_body(bytes_max);
    switch (state) {
    case net::body_state::ready:
        break;
    case net::body_state::too_large:
        throw problem(
            "payload-too-large", "the body is at most " + std::to_string(bytes_max) + " bytes here"
        );
    case net::body_state::timed_out:
        throw problem("invalid-request", 408, "the body did not arrive in time");
    case net::body_state::cut:
    case net::body_state::malformed:
        throw problem("invalid-request", "the body is incomplete or malformed");
    }
    co_return std::move(request.connection.body());
}

boost::asio::awaitable<store::stream_info> require_stream(exchange& request, std::string stream) {
    auto info = co_await request.shard.engine.info(std::move(stream), request.deadline());
    if (!info) throw problem("unknown-stream", "nothing was ever published to this stream");
    co_return std::move(*info);
}

} // namespace streamld::api
