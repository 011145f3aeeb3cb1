// A whole range as NDJSON: one EventEnvelope a line, chunked, so that a cut is visible.

#include "api/gap_answer.hpp"
#include "api/problem.hpp"
#include "api/streaming.hpp"
#include "api/subscribe_request.hpp"
#include "delivery/ndjson_sink.hpp"
#include "hub/subscription.hpp"

#include <limits>
#include <utility>

namespace streamld::api {

namespace {

std::uint64_t line_limit(const parameters& query) {
    const std::string* const text = query.find("limit");
    if (text == nullptr) return std::numeric_limits<std::uint64_t>::max();
    const auto lines = parse_offset(*text);
    if (!lines || *lines == 0)
        throw problem{"invalid-parameter", "limit is a number of events from 1 on"};
    return static_cast<std::uint64_t>(*lines);
}

net::response ndjson_head() {
    net::response head{200};
    head.set("Content-Type", "application/x-ndjson");
    head.set("Cache-Control", "no-cache");
    head.set("Vary", "Accept");
    return head;
}

} // namespace

boost::asio::awaitable<std::optional<net::response>>
answer_ndjson(exchange& request, std::string stream) {
    const subscribe_request asked =
        read_subscribe_request(std::move(stream), request.query, store::start_kind::oldest);
    const std::uint64_t limit = line_limit(request.query);
    // Read afresh: the range goes to the head at the time of the request, whoever published.
    store::position place = co_await request.shard.engine.locate(
        asked.stream, asked.start, asked.key, request.deadline()
    );
    if (!place.info.bounds.exists)
        throw problem{"unknown-stream", "nothing was ever published to this stream"};
    if (store::judge(place.after, asked.epoch, place.info.bounds) == store::verdict::foreign) {
        const gap_signal gap{asked.stream, store::verdict::foreign, place.info.bounds};
        co_return gap_answer(gap, false);
    }
    if (request.is_head) co_return ndjson_head();
    store::start_point start;
    start.kind = store::start_kind::after;
    start.value = place.after;
    wire_format format;
    format.how = framing::line;
    const std::string any_epoch;
    opening found =
        co_await request.shard.shard_hub.open(asked.stream, start, any_epoch, asked.key, format);
    ndjson_sink lines{request.connection, limit};
    subscription_options options;
    options.key = asked.key;
    options.through = place.info.bounds.head;
    options.is_read = true;
    options.by = transport::ndjson;
    subscription reader{
        request.shard.shard_hub, std::move(found.tail), place.after, lines, std::move(options)};
    net::response head = ndjson_head();
    request.dress(head);
    request.connection.begin_stream(std::move(head), true);
    const ending why = co_await reader.run();
    if (why == ending::finished)
        co_await request.connection.end_stream();
    else
        request.connection.abort(
        ); // A chunked body without its last chunk: the client sees that it was cut.
    co_return std::nullopt;
}

} // namespace streamld::api
