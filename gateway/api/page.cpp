#include "api/page.hpp"

#include "api/documents.hpp"
#include "api/problem.hpp"
#include "base/json_string.hpp"
#include "hub/frame.hpp"

#include <algorithm>

namespace streamld::api {

namespace {

/// The same read, one page on.
std::string next_link(const exchange& request, const page_facts& facts, store::offset_t next) {
    std::string link =
        "</streams/" + percent_encode(facts.stream) + "/events?after=" + std::to_string(next);
    const bool has_limit =
        request.query.find("limit") != nullptr || request.query.find("last") != nullptr;
    if (has_limit) link += "&limit=" + std::to_string(facts.limit);
    for (const std::string_view name : {"key", "epoch", "format"})
        if (const auto* value = request.query.find(name))
            link += '&' + std::string(name) + '=' + percent_encode(*value);
    return link + ">; rel=\"next\"";
}

} // namespace

std::size_t page_limit(const parameters& query) {
    static constexpr store::offset_t limit_default = 100;
    static constexpr store::offset_t limit_max = 1000;
    std::string name = "limit";
    const std::string* text = query.find(name);
    if (text == nullptr) {
        name = "last";
        text = query.find(name);
    }
    if (text == nullptr) return limit_default;
    const auto limit = parse_offset(*text);
    if (!limit || *limit == 0)
        throw problem{
            "invalid-parameter",
            '`' + name + "` is a number of events from 1 on (at most 1000 are given)"};
    return static_cast<std::size_t>(std::min(*limit, limit_max));
}

net::response
page_response(const exchange& request, const page_facts& facts, std::string_view items) {
    const bool is_full = facts.count > 0 && facts.count >= facts.limit;
    const auto next = is_full ? facts.last : std::max(facts.after, facts.scanned);
    net::response answer;
    answer.body.reserve(items.size() + 512);
    json_object body(answer.body);
    if (facts.is_jsonld) body.text("@context", jsonld_context_url()).text("@type", "EventPage");
    body.text("stream", facts.stream);
    if (facts.bounds.exists) body.text("epoch", facts.bounds.epoch);
    std::string events;
    events.reserve(items.size() + 2);
    events.append("[").append(items).append("]");
    body.raw("events", events)
        .number("after", facts.after)
        .number("next", next)
        .number("head", facts.bounds.head);
    if (const auto oldest = facts.bounds.oldest_available())
        body.number("oldestAvailable", *oldest);
    body.close();

    answer.set("Content-Type", facts.is_jsonld ? "application/ld+json" : "application/json");
    if (next < facts.bounds.head) answer.set("Link", next_link(request, facts, next));
    if (!facts.is_jsonld) answer.set("Link", std::string(context_link));
    answer.set("Vary", "Accept");
    answer.set("Cache-Control", "no-cache");
    return answer;
}

} // namespace streamld::api
