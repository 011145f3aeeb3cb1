// DELETE /streams/{s}/events?through=N

#include "api/answers.hpp"
#include "api/handlers.hpp"
#include "api/problem.hpp"
#include "base/json_string.hpp"

namespace streamld::api {

namespace {

store::trim_request read_trim(const exchange& request) {
    store::trim_request wanted;
    wanted.stream = request.names[0];
    const auto* through = request.query.find("through");
    if (through == nullptr)
        throw problem(
            "invalid-parameter", "`through` is missing: the number of the last event to remove"
        );
    const auto number = parse_offset(*through);
    if (!number)
        throw problem(
            "invalid-cursor", "`through` is a number from 0 to 9007199254740991 in plain digits"
        );
    wanted.through = *number;
    wanted.dry_run = request.query.flag("dry-run");
    if (const auto* guard = request.query.find("guard")) {
        if (*guard != "consumers")
            throw problem("invalid-parameter", "`guard` takes the value consumers only");
        wanted.guard_consumers = true;
    }
    return wanted;
}

std::string consumers_json(const std::vector<store::consumer_offset>& consumers) {
    std::string list = "[";
    for (const auto& each : consumers) {
        if (list.size() > 1) list += ',';
        json_object(list).text("consumer", each.consumer).number("offset", each.offset).close();
    }
    return list + ']';
}

} // namespace

answer_t trim_events(exchange& request) {
    const auto wanted = read_trim(request);
    const auto outcome = co_await request.shard.engine.trim(wanted, request.deadline());
    std::size_t subscriptions = 0;
    if (wanted.dry_run) {
        subscriptions = co_await request.shard.subscriptions_of(wanted.stream);
    } else {
        request.shard.all_shards.trimmed(wanted.stream, outcome.info.bounds.horizon);
    }

    auto answer = json_answer(200);
    json_object body(answer.body);
    body.text("stream", wanted.stream).number("removed", outcome.removed);
    if (const auto oldest = outcome.info.bounds.oldest_available())
        body.number("oldestAvailable", *oldest);
    body.number("head", outcome.info.bounds.head);
    if (wanted.dry_run) {
        body.raw("consumers", consumers_json(outcome.consumers_behind));
        body.number("subscriptions", static_cast<std::int64_t>(subscriptions));
    }
    body.close();
    co_return answer;
}

} // namespace streamld::api
