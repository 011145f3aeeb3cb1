// POST /streams/{s}/events: one event, or a batch as NDJSON. The headers are judged before the body
// is read.

#include "api/answers.hpp"
#include "api/handlers.hpp"
#include "api/problem.hpp"
#include "api/publication.hpp"
#include "base/json_string.hpp"
#include "store/json_text.hpp"

namespace streamld::api {

namespace {

struct publication {
    body_form form;
    std::optional<std::string> key;
    bool is_snapshot = false;
    store::append_request request; // Without events yet.

    [[nodiscard]] bool is_batch() const noexcept {
        return form.kind == body_kind::lines || form.kind == body_kind::envelope_lines;
    }
};

std::string_view content_type_of(const exchange& request) {
    if (request.request().count("Content-Type") > 1)
        throw problem("unsupported-media-type", "send one Content-Type header");
    return request.header("Content-Type").value_or(std::string_view{});
}

publication read_head(const exchange& request) {
    publication wanted;
    const auto encoding = single_header(request, "Content-Encoding").value_or(std::string_view{});
    wanted.form = read_body_form(content_type_of(request), encoding);
    wanted.key = read_key(single_header(request, "StreamLD-Key"), request.query.find("key"));
    wanted.is_snapshot = request.query.flag("snapshot");
    wanted.request.stream = request.names[0];
    wanted.request.content_type = wanted.form.content_type;
    wanted.request.idempotency_key =
        read_idempotency_key(single_header(request, "Idempotency-Key"));
    wanted.request.expected_head = read_expected_head(
        single_header(request, "If-Match"), single_header(request, "If-None-Match")
    );
    wanted.request.is_batch = wanted.is_batch();
    return wanted;
}

/// What `curl -d` sends says nothing of its content: JSON is taken, the rest may be anything.
void check_form(std::string_view body) {
    const auto check = store::check_json(body, store::json_depth_max);
    if (check) return;
    throw problem(
        "unsupported-media-type",
        "a form is taken when its body is JSON, and this one is not: " + std::string(check.fault) +
            "; with curl send --json '{...}', or name the type with -H 'Content-Type: ...'"
    );
}

void take_events(publication& wanted, std::string body, const settings& limits) {
    if (wanted.is_batch()) {
        const batch_limits bounds{limits.payload_bytes_max, limits.batch_events_max};
        wanted.request.events =
            read_lines(body, wanted.form.kind, wanted.key, wanted.is_snapshot, bounds);
        return;
    }
    if (body.empty())
        throw problem("invalid-payload", "the body is empty; the event's payload goes there");
    if (wanted.form.kind == body_kind::form) check_form(body);
    wanted.request.events.emplace_back(std::move(body), wanted.key, wanted.is_snapshot);
}

net::response
published(const std::string& stream, bool is_batch, const store::append_outcome& outcome) {
    auto answer = json_answer(201);
    json_object body(answer.body);
    body.text("stream", stream);
    if (is_batch) {
        body.number("first", outcome.first).number("last", outcome.last);
    } else {
        body.number("sequence", outcome.first);
        answer.set(
            "Location",
            "/streams/" + percent_encode(stream) + "/events/" + std::to_string(outcome.first)
        );
    }
    body.close();
    if (outcome.replayed) answer.set("Idempotency-Replayed", "true");
    return answer;
}

} // namespace

answer_t publish_events(exchange& request) {
    auto wanted = read_head(request);
    const auto& limits = request.shard.limits;
    const auto bytes_max = wanted.is_batch() ? limits.body_bytes_max : limits.payload_bytes_max;
    auto body = co_await take_body(request, bytes_max);
    take_events(wanted, std::move(body), limits);
    const auto outcome = co_await request.shard.publishes.publish(std::move(wanted.request));
    co_return published(request.names[0], wanted.is_batch(), outcome);
}

} // namespace streamld::api
