// GET /streams/{s}/events/{n}

#include "api/answers.hpp"
#include "api/documents.hpp"
#include "api/handlers.hpp"
#include "api/negotiation.hpp"
#include "api/problem.hpp"
#include "base/json_string.hpp"
#include "hub/frame.hpp"

namespace streamld::api {

namespace {

representation wanted_form(const exchange& request) {
    static constexpr representation offers[] = {representation::json, representation::jsonld};
    const auto wanted = negotiate(accept_of(request.request()), offers);
    if (!wanted)
        throw problem("not-acceptable", "an event is application/json or application/ld+json");
    return *wanted;
}

store::offset_t read_number(std::string_view segment) {
    const auto number = parse_offset(segment);
    if (!number) throw problem("invalid-cursor", "an event's number is plain digits, from 1 on");
    return *number;
}

void check_exists(store::offset_t number, const store::event_page& page) {
    const auto& bounds = page.bounds;
    if (!bounds.exists)
        throw problem("unknown-stream", "nothing was ever published to this stream");
    if (number == 0 || number > bounds.head)
        throw problem(
            "unknown-event",
            "no event has this number yet; the newest is " + std::to_string(bounds.head)
        );
    if (number <= bounds.horizon || page.events.empty())
        throw problem(
            "event-gone", "events up to " + std::to_string(bounds.horizon) + " were trimmed away"
        );
}

} // namespace

answer_t get_event(exchange& request) {
    const bool is_jsonld = wanted_form(request) == representation::jsonld;
    const auto number = read_number(request.names[1]);
    store::read_request wanted;
    wanted.stream = request.names[0];
    wanted.after = number > 0 ? number - 1 : 0;
    wanted.through = number > 0 ? number : 1;
    wanted.events_max = 1;
    const auto page = co_await request.shard.engine.read(std::move(wanted), request.deadline());
    check_exists(number, page);

    net::response answer;
    answer.set("Content-Type", is_jsonld ? "application/ld+json" : "application/json");
    answer.set("Vary", "Accept");
    answer.set("Cache-Control", "no-cache");
    answer.body = envelope_json(request.names[0], page.events.front(), is_jsonld);
    if (is_jsonld) {
        std::string context = "\"@context\":";
        append_json_string(context, jsonld_context_url());
        answer.body.insert(1, context + ',');
    } else {
        answer.set("Link", std::string(context_link));
    }
    co_return answer;
}

} // namespace streamld::api
