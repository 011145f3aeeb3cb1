// GET /streams/{s}/events: Accept decides whether it is a page, a range as NDJSON or an event
// stream; and GET /events, which is an event stream of one or more streams named by `?stream=`.

#include "api/answers.hpp"
#include "api/gap_answer.hpp"
#include "api/handlers.hpp"
#include "api/negotiation.hpp"
#include "api/page.hpp"
#include "api/problem.hpp"
#include "api/streaming.hpp"
#include "api/subscribe_request.hpp"
#include "hub/frame.hpp"

#include <algorithm>
#include <span>

namespace streamld::api {

namespace {

constexpr std::size_t page_bytes_max = std::size_t{8} << 20; // However large the events are.

constexpr std::string_view only_event_streams[] = {"id", "gap", "lastEventId", "Last-Event-ID"};
constexpr std::string_view only_pages[] = {"wait"};
constexpr std::string_view never_endless[] = {"wait", "limit"};

void refuse_names(
    const parameters& query, std::span<const std::string_view> names, std::string_view where
) {
    for (const auto name : names)
        if (query.find(name) != nullptr)
            throw problem("invalid-parameter", '`' + std::string(name) + "` " + std::string(where));
}

void check_names(const parameters& query, representation wanted) {
    if (wanted == representation::event_stream) {
        refuse_names(query, never_endless, "is for pages; an event stream goes on");
        return;
    }
    refuse_names(query, only_event_streams, "is for event streams (Accept: text/event-stream)");
    if (wanted == representation::ndjson)
        refuse_names(query, only_pages, "is for pages (Accept: application/json)");
}

void refuse_when_draining(const exchange& request) {
    if (request.shard.is_draining)
        throw problem(
            "shutting-down", "the server is about to stop and takes no new readers; try again soon"
        );
}

/// `format=ld+json` is another way to ask for it, as on event streams.
bool is_jsonld_page(const parameters& query, representation wanted) {
    const auto* format = query.find("format");
    if (format == nullptr) return wanted == representation::jsonld;
    if (*format != "ld+json")
        throw problem("invalid-parameter", "`format` takes the value ld+json only");
    return true;
}

std::string join_items(const store::event_page& page, const std::string& stream, bool is_jsonld) {
    wire_format format;
    format.how = framing::item;
    format.is_jsonld = is_jsonld;
    block_builder builder(stream, page.bounds.epoch, format);
    for (const auto& event : page.events)
        builder.add(event);
    const auto block = builder.finish({});
    std::string items;
    items.reserve(page.events.empty() ? 0 : block->bytes(0, block->size()).size() + block->size());
    for (std::size_t i = 0; i < block->size(); ++i) {
        if (i > 0) items += ',';
        items += block->bytes(i, i + 1);
    }
    return items;
}

void require(const store::stream_bounds& bounds) {
    if (!bounds.exists)
        throw problem(
            "unknown-stream", "nothing was ever published to this stream; a subscription would wait"
        );
}

/// Behind which event the read begins; empty for the oldest, which the page itself knows.
boost::asio::awaitable<std::optional<store::offset_t>>
find_start(exchange& request, const subscribe_request& asked) {
    if (asked.start.kind == store::start_kind::oldest) co_return std::nullopt;
    if (asked.start.kind == store::start_kind::after) co_return asked.start.value;
    auto& engine = request.shard.engine;
    const auto place =
        co_await engine.locate(asked.stream, asked.start, asked.key, request.deadline());
    require(place.info.bounds);
    co_return place.after;
}

answer_t read_page(exchange& request, bool is_jsonld) {
    const auto asked =
        read_subscribe_request(request.names[0], request.query, store::start_kind::oldest);
    page_facts facts;
    facts.limit = page_limit(request.query);
    facts.is_jsonld = is_jsonld;
    facts.stream = asked.stream;
    const auto start = co_await find_start(request, asked);
    store::read_request wanted;
    wanted.stream = asked.stream;
    wanted.after = start.value_or(0);
    wanted.events_max = facts.limit;
    wanted.bytes_max = page_bytes_max;
    wanted.key = asked.key;
    const auto page = co_await request.shard.engine.read(std::move(wanted), request.deadline());
    require(page.bounds);
    facts.after = start.value_or(page.bounds.horizon);
    if (store::judge(facts.after, asked.epoch, page.bounds) == store::verdict::foreign) {
        const gap_signal gap(asked.stream, store::verdict::foreign, page.bounds);
        request.shard.shard_probes.gap_told(reason_of(gap));
        co_return gap_answer(gap, is_jsonld);
    }
    facts.bounds = page.bounds;
    facts.count = page.events.size();
    facts.last = page.events.empty() ? 0 : page.events.back().offset;
    facts.scanned = page.scanned;
    co_return page_response(request, facts, join_items(page, asked.stream, is_jsonld));
}

} // namespace

answer_t read_events(exchange& request) {
    const auto wanted = negotiate(accept_of(request.request()), event_offers);
    if (!wanted)
        throw problem(
            "not-acceptable",
            "events are application/json, application/ld+json, application/x-ndjson or "
            "text/event-stream"
        );
    check_names(request.query, *wanted);
    switch (*wanted) {
    case representation::event_stream: {
        refuse_when_draining(request);
        std::vector<std::string> streams(1, request.names[0]);
        return answer_event_stream(request, std::move(streams), false);
    }
    case representation::ndjson:
        refuse_when_draining(request);
        return answer_ndjson(request, request.names[0]);
    case representation::json:
    case representation::jsonld:
        break;
    }
    const bool is_jsonld = is_jsonld_page(request.query, *wanted);
    if (request.query.find("wait") == nullptr) return read_page(request, is_jsonld);
    refuse_when_draining(request);
    return answer_long_poll(request, request.names[0], is_jsonld);
}

answer_t follow_streams(exchange& request) {
    static constexpr representation only[] = {representation::event_stream};
    if (!negotiate(accept_of(request.request()), only))
        throw problem("not-acceptable", "this path answers with text/event-stream");
    const auto host = request.header("Host").value_or(std::string_view{});
    std::vector<std::string> streams;
    for (const auto& text : request.query.all("stream"))
        streams.push_back(resolve_stream_name(text, host, request.shard.limits.public_url));
    if (streams.empty())
        throw problem("invalid-parameter", "`stream` is missing; name one or more");
    if (streams.size() > request.shard.limits.subscriptions_per_connection_max)
        throw problem("invalid-parameter", "too many streams for one connection");
    const bool is_multiple = streams.size() > 1;
    return answer_event_stream(request, std::move(streams), is_multiple);
}

} // namespace streamld::api
