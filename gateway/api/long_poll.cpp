// A page that waits (PROTOCOL.md section 4, `wait=`): a subscription whose answer is its first
// events.

#include "api/gap_answer.hpp"
#include "api/page.hpp"
#include "api/problem.hpp"
#include "api/streaming.hpp"
#include "api/subscribe_request.hpp"
#include "delivery/longpoll_sink.hpp"
#include "hub/subscription.hpp"

#include <utility>

namespace streamld::api {

namespace {

constexpr store::offset_t wait_seconds_max = 60;

std::chrono::seconds read_wait(const parameters& query) {
    const std::string* const text = query.find("wait");
    const auto seconds = text == nullptr ? std::nullopt : parse_offset(*text);
    if (!seconds || *seconds > wait_seconds_max)
        throw problem{"invalid-parameter", "wait is a number of seconds from 0 to 60"};
    return std::chrono::seconds{*seconds};
}

page_facts facts_of(
    const longpoll_sink& page,
    const subscription& reader,
    const subscribe_request& asked,
    store::offset_t after
) {
    page_facts facts;
    facts.stream = asked.stream;
    facts.bounds = reader.bounds();
    facts.after = after;
    facts.last = page.last();
    facts.count = page.count();
    facts.scanned = std::max(after, page.scanned());
    return facts;
}

} // namespace

boost::asio::awaitable<std::optional<net::response>>
answer_long_poll(exchange& request, std::string stream, bool is_jsonld) {
    const std::chrono::seconds wait = read_wait(request.query);
    const subscribe_request asked =
        read_subscribe_request(std::move(stream), request.query, store::start_kind::live);
    const std::size_t limit = page_limit(request.query);
    wire_format format;
    format.how = framing::item;
    format.is_jsonld = is_jsonld;
    opening found = co_await request.shard.shard_hub.open(
        asked.stream, asked.start, asked.epoch, asked.key, format
    );
    if (found.verdict != store::verdict::resolvable) {
        const gap_signal gap{asked.stream, found.verdict, found.bounds};
        request.shard.shard_probes.gap_told(reason_of(gap));
        co_return gap_answer(gap, is_jsonld);
    }
    longpoll_sink page{limit};
    subscription_options options;
    options.key = asked.key;
    options.epoch = asked.epoch.empty() ? found.bounds.epoch : asked.epoch;
    options.by = transport::longpoll;
    subscription reader{
        request.shard.shard_hub, std::move(found.tail), found.after, page, std::move(options)};
    const auto until = std::chrono::steady_clock::now() + wait;
    const watchdog::member alarm{
        request.shard.shard_watchdog, [&reader, until](watchdog::clock::time_point now) {
            if (now >= until) reader.stop(ending::finished);
        }};
    const ending why = co_await reader.run();
    if (why == ending::store_failed)
        throw problem{"store-unavailable", "the log cannot be read now; try again"};
    if (page.told_gap()) co_return gap_answer(*page.told_gap(), is_jsonld);
    page_facts facts = facts_of(page, reader, asked, found.after);
    if (!facts.bounds.exists) {
        // It did not when the wait began; the events alone do not tell the epoch.
        const auto info = co_await request.shard.engine.info(asked.stream, request.deadline());
        if (info) facts.bounds = info->bounds;
    }
    facts.limit = limit;
    facts.is_jsonld = is_jsonld;
    co_return page_response(request, facts, page.items());
}

} // namespace streamld::api
