#include "store/postgres/writes.hpp"

#include "store/postgres/queries.hpp"
#include "store/postgres/reader.hpp"

#include <algorithm>

namespace streamld::store::postgres {

namespace {

using boost::asio::awaitable;
using clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds server_margin{
    20}; // The server's limit comes before ours, so it can say why.

/// How long the server may wait for a lock before this deadline.
milliseconds lock_patience(deadline_t deadline) {
    const auto left = std::chrono::duration_cast<milliseconds>(deadline - clock::now());
    return std::max(left - server_margin, milliseconds{1});
}

/// The statement in a transaction that waits for locks no longer than the caller does.
std::vector<query> patiently(query what, deadline_t deadline) {
    std::vector<query> pipeline;
    pipeline.emplace_back(queries::begin);
    pipeline.emplace_back(queries::set_lock_timeout)
        .text(std::to_string(lock_patience(deadline).count()));
    pipeline.push_back(std::move(what));
    pipeline.emplace_back(queries::commit);
    return pipeline;
}

} // namespace

query save_offset_query(const std::string& stream, const std::string& consumer, offset_t offset) {
    query call(queries::save_consumer);
    call.text(stream).text(consumer).integer(offset);
    return call;
}

save_outcome save_outcome_of(const result& rows) {
    switch (rows.integer(0, 0)) {
    case 1:
        throw unknown_stream();
    case 2:
        throw error(
            errc::invalid_cursor, "the offset is beyond the stream's head", rows.integer(0, 3)
        );
    default:
        break;
    }
    save_outcome outcome;
    outcome.offset = rows.integer(0, 1);
    outcome.advanced = rows.boolean(0, 2);
    return outcome;
}

awaitable<engine::created> create_stream(connection& db, std::string stream, deadline_t deadline) {
    query call(queries::create_stream);
    call.text(stream);
    auto pipeline = patiently(std::move(call), deadline);
    const std::vector<result> results = co_await db.exchange(std::move(pipeline), deadline);
    const result& rows = results.at(2);
    engine::created created;
    created.is_new = rows.boolean(0, 0);
    created.info.stream = std::move(stream);
    fill_info(created.info, rows, 0, 1);
    co_return created;
}

awaitable<save_outcome> save_offset(
    connection& db, std::string stream, std::string consumer, offset_t offset, deadline_t deadline
) {
    auto pipeline = patiently(save_offset_query(stream, consumer, offset), deadline);
    const std::vector<result> results = co_await db.exchange(std::move(pipeline), deadline);
    co_return save_outcome_of(results.at(2));
}

awaitable<nothing>
forget_consumer(connection& db, std::string stream, std::string consumer, deadline_t deadline) {
    query call(queries::forget_consumer);
    call.text(stream).text(consumer);
    auto pipeline = patiently(std::move(call), deadline);
    const std::vector<result> results = co_await db.exchange(std::move(pipeline), deadline);
    if (results.at(2).integer(0, 0) == 0) throw unknown_stream();
    co_return nothing{};
}

awaitable<trim_outcome>
trim(connection& db, sweeper& rows, trim_request request, deadline_t deadline) {
    query call(queries::trim);
    call.text(request.stream)
        .integer(request.through)
        .boolean(request.dry_run)
        .boolean(request.guard_consumers)
        .small(static_cast<std::int32_t>(lock_patience(deadline).count()));
    query behind(queries::consumers_below);
    behind.text(request.stream).integer(request.through);
    std::vector<query> pipeline;
    pipeline.emplace_back(queries::begin);
    pipeline.push_back(std::move(call));
    pipeline.push_back(std::move(behind));
    pipeline.emplace_back(queries::commit);
    const std::vector<result> results = co_await db.exchange(std::move(pipeline), deadline);
    const result& moved = results.at(1);
    if (moved.integer(0, 0) == 1) throw unknown_stream();
    trim_outcome outcome;
    outcome.removed = moved.integer(0, 1);
    outcome.info.stream = std::move(request.stream);
    fill_info(outcome.info, moved, 0, 3);
    if (moved.integer(0, 0) == 2)
        throw error(
            errc::consumers_behind,
            "a consumer's saved offset is below the new horizon",
            outcome.info.bounds.head
        );
    for (int row = 0; row < results.at(2).rows(); ++row) {
        consumer_offset& added = outcome.consumers_behind.emplace_back();
        added.consumer = results.at(2).text(row, 0);
        added.offset = results.at(2).integer(row, 1);
    }
    if (outcome.removed > 0 && !request.dry_run)
        rows.add(moved.integer(0, 2), outcome.info.bounds.horizon);
    co_return outcome;
}

awaitable<nothing> touch_probe(connection& db, deadline_t deadline) {
    query touch(queries::touch_probe);
    auto pipeline = patiently(std::move(touch), deadline);
    co_await db.exchange(std::move(pipeline), deadline);
    co_return nothing{};
}

} // namespace streamld::store::postgres
