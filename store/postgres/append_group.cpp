#include "store/postgres/append_group.hpp"

#include "store/postgres/queries.hpp"

namespace streamld::store::postgres {

namespace {

constexpr std::size_t bytes_beside_events = 1024; // What a publish costs besides.

struct publish_columns {
    array_builder streams{type_oid::text};
    array_builder counts{type_oid::int4};
    array_builder expected{type_oid::int8};
    array_builder tokens{type_oid::text};
    array_builder fingerprints{type_oid::bytes};

    void add(const checked_append& publish) {
        const append_request& request = publish.request;
        streams.add(request.stream);
        counts.add(static_cast<std::int32_t>(request.events.size()));
        if (request.expected_head) {
            expected.add(std::int64_t{*request.expected_head});
        } else {
            expected.add_null();
        }
        if (request.idempotency_key.empty()) {
            tokens.add_null();
            fingerprints.add_null();
        } else {
            tokens.add(request.idempotency_key);
            fingerprints.add(publish.fingerprint);
        }
    }
};

struct event_columns {
    array_builder publishes{type_oid::int4}; // From 1, as the numbers.
    array_builder numbers{type_oid::int4};
    array_builder keys{type_oid::text};
    array_builder snapshots{type_oid::boolean};
    array_builder content_types{type_oid::text};
    array_builder payloads{type_oid::bytes};

    void add(std::int32_t publish, const append_request& request) {
        std::int32_t number = 0;
        for (const new_event& event : request.events) {
            publishes.add(publish);
            numbers.add(++number);
            if (event.key) {
                keys.add(*event.key);
            } else {
                keys.add_null();
            }
            snapshots.add(event.is_snapshot);
            if (request.content_type == default_content_type) {
                content_types.add_null();
            } else {
                content_types.add(request.content_type);
            }
            payloads.add(event.payload);
        }
    }
};

} // namespace

query append_query(
    const std::vector<const checked_append*>& group, std::chrono::milliseconds wait
) {
    publish_columns publishes;
    event_columns events;
    std::int32_t place = 0;
    for (const checked_append* publish : group) {
        publishes.add(*publish);
        events.add(++place, publish->request);
    }
    query call(queries::append);
    call.array(std::move(publishes.streams))
        .array(std::move(publishes.counts))
        .array(std::move(publishes.expected))
        .array(std::move(publishes.tokens))
        .array(std::move(publishes.fingerprints));
    call.array(std::move(events.publishes))
        .array(std::move(events.numbers))
        .array(std::move(events.keys))
        .array(std::move(events.snapshots))
        .array(std::move(events.content_types))
        .array(std::move(events.payloads));
    call.small(static_cast<std::int32_t>(wait.count()));
    return call;
}

std::vector<append_answer> answers_of(const result& rows) {
    std::vector<append_answer> answers(static_cast<std::size_t>(rows.rows()));
    int row = 0;
    for (append_answer& answer : answers) {
        answer.verdict = static_cast<append_verdict>(rows.integer(row, 0));
        answer.outcome.first = rows.integer(row, 1);
        answer.outcome.last = rows.integer(row, 2);
        answer.outcome.created_at = rows.integer(row, 3);
        answer.outcome.replayed = answer.verdict == append_verdict::replayed;
        answer.head = rows.integer(row, 4);
        answer.epoch = rows.text(row, 5);
        ++row;
    }
    return answers;
}

std::exception_ptr refusal_of(const append_answer& answer) {
    switch (answer.verdict) {
    case append_verdict::conflict:
        return std::make_exception_ptr(
            error(errc::idempotency_conflict, "this idempotency key was used for another publish")
        );
    case append_verdict::precondition:
        return std::make_exception_ptr(
            error(errc::precondition, "the stream's head is another", answer.head)
        );
    case append_verdict::full:
        return std::make_exception_ptr(error(errc::full, "the stream has no numbers left"));
    case append_verdict::stored:
    case append_verdict::replayed:
    case append_verdict::held:
        break;
    }
    return nullptr;
}

store_observer::committed_append
report_of(const checked_append& publish, const append_answer& answer) {
    store_observer::committed_append report;
    report.stream = publish.request.stream;
    report.epoch = answer.epoch;
    report.content_type = publish.request.content_type;
    report.events = publish.request.events;
    report.first = answer.outcome.first;
    report.created_at = answer.outcome.created_at;
    return report;
}

std::size_t bytes_of(const append_request& request) {
    std::size_t sum = request.stream.size() + bytes_beside_events;
    for (const new_event& event : request.events)
        sum += event.payload.size() + (event.key ? event.key->size() : 0);
    return sum;
}

} // namespace streamld::store::postgres
