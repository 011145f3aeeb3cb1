#include "store/postgres/reader.hpp"

#include "store/postgres/queries.hpp"

#include <algorithm>
#include <cstring>

namespace streamld::store::postgres {

namespace {

using boost::asio::awaitable;

// Columns of a page's rows behind those of the bounds.
enum page_column {
    epoch_column,
    head_column,
    horizon_column,
    sequence_column,
    created_at_column,
    is_snapshot_column,
    is_checked_column,
    content_type_column,
    key_column,
    payload_column,
    found_column,
};

void fill_bounds(stream_bounds& bounds, const result& rows, int row, int first) {
    bounds.exists = true;
    bounds.epoch = rows.text(row, first);
    bounds.head = rows.integer(row, first + 1);
    bounds.horizon = rows.integer(row, first + 2);
}

/// Copies a page's texts into one piece of memory that the page owns.
class page_arena {
public:
    page_arena(event_page& page, const result& rows) {
        std::size_t size = 0;
        for (int row = 0; row < rows.rows(); ++row)
            for (const int column : {payload_column, key_column, content_type_column})
                size += rows.bytes(row, column).size();
        page.bytes = std::make_unique_for_overwrite<char[]>(size);
        next_ = page.bytes.get();
    }

    std::string_view keep(std::string_view bytes) {
        char* const begin = next_;
        if (!bytes.empty()) std::memcpy(begin, bytes.data(), bytes.size());
        next_ += bytes.size();
        return {begin, bytes.size()};
    }

private:
    char* next_;
};

void fill_events(event_page& page, const result& rows) {
    page_arena arena(page, rows);
    page.events.reserve(static_cast<std::size_t>(rows.rows()));
    for (int row = 0; row < rows.rows(); ++row) {
        event_view& event = page.events.emplace_back();
        event.offset = rows.integer(row, sequence_column);
        event.created_at = rows.integer(row, created_at_column);
        event.is_snapshot = rows.boolean(row, is_snapshot_column);
        event.is_checked = rows.boolean(row, is_checked_column);
        event.content_type = rows.is_null(row, content_type_column)
                                 ? default_content_type
                                 : arena.keep(rows.bytes(row, content_type_column));
        event.key = arena.keep(rows.bytes(row, key_column));
        event.payload = arena.keep(rows.bytes(row, payload_column));
    }
}

/// Null where every key will do.
void add_key(query& to, const std::string& key) {
    if (key.empty()) {
        to.null(type_oid::text);
    } else {
        to.text(key);
    }
}

query page_query(const read_request& request, std::size_t events_max) {
    query page(queries::read_events);
    page.text(request.stream).integer(request.after).integer(request.through);
    page.integer(static_cast<std::int64_t>(events_max));
    page.integer(static_cast<std::int64_t>(std::max<std::size_t>(request.bytes_max, 1)));
    add_key(page, request.key);
    return page;
}

} // namespace

error unknown_stream() {
    return error(errc::unknown_stream, "the stream does not exist");
}

void fill_info(stream_info& info, const result& rows, int row, int first) {
    fill_bounds(info.bounds, rows, row, first);
    info.created_at = rows.integer(row, first + 3);
    if (!rows.is_null(row, first + 4)) info.last_event_at = rows.integer(row, first + 4);
}

// ---------------------------------------------------------------- events

awaitable<event_page> read_page(connection& db, read_request request, deadline_t deadline) {
    constexpr std::size_t events_limit = 65536; // What one statement may gather.
    const std::size_t events_max = std::min(request.events_max, events_limit);
    query what = page_query(request, events_max);
    const result rows = co_await ask(db, std::move(what), deadline);
    event_page page;
    page.scanned = request.after;
    if (rows.rows() == 0) co_return page;
    fill_bounds(page.bounds, rows, 0, epoch_column);
    const offset_t through = std::min(request.through, page.bounds.head);
    const bool has_events = !rows.is_null(0, sequence_column);
    if (has_events) fill_events(page, rows);
    const auto found = has_events ? rows.integer(0, found_column) : 0;
    const bool is_cut = static_cast<std::int64_t>(page.events.size()) < found;
    if (is_cut) {
        page.scanned = page.events.back().offset;
    } else if (events_max > 0) {
        page.scanned = std::max(request.after, through);
    }
    co_return page;
}

awaitable<std::optional<stream_info>>
read_info(connection& db, std::string stream, deadline_t deadline) {
    query what(queries::find_stream);
    what.text(stream);
    const result rows = co_await ask(db, std::move(what), deadline);
    std::optional<stream_info> info;
    if (rows.rows() == 0) co_return info;
    info.emplace();
    info->stream = std::move(stream);
    fill_info(*info, rows, 0, 0);
    co_return info;
}

// ---------------------------------------------------------------- starts

namespace {

/// The statement that finds a start; its sixth column, where there is one, is what was looked for.
query start_query(const std::string& stream, const start_point& start, const std::string& key) {
    const bool is_counted = start.kind == start_kind::last && start.value > 0 && !key.empty();
    if (is_counted) {
        query what(queries::nth_last_of_key);
        what.text(stream).integer(start.value).text(key);
        return what;
    }
    if (start.kind == start_kind::snapshot) {
        query what(queries::newest_snapshot);
        what.text(stream);
        add_key(what, key);
        return what;
    }
    if (start.kind == start_kind::consumer) {
        query what(queries::find_consumer);
        what.text(stream).text(start.consumer);
        return what;
    }
    query what(queries::find_stream);
    what.text(stream);
    return what;
}

offset_t start_of(
    const stream_bounds& bounds, const start_point& start, const std::optional<offset_t>& found
) {
    switch (start.kind) {
    case start_kind::live:
        return bounds.head;
    case start_kind::after:
        return start.value;
    case start_kind::oldest:
        return bounds.horizon;
    case start_kind::snapshot:
        return found ? *found - 1 : bounds.horizon;
    case start_kind::consumer:
        return found.value_or(0);
    case start_kind::last:
        break;
    }
    return bounds.head;
}

offset_t start_of_last(
    const stream_bounds& bounds,
    offset_t count,
    const std::string& key,
    const std::optional<offset_t>& found
) {
    if (count <= 0) return bounds.head;
    if (!key.empty()) return found ? *found - 1 : bounds.horizon;
    // Without a filter the surviving events are dense, so this is arithmetic.
    return std::max(bounds.horizon, bounds.head - std::min(count, bounds.head));
}

} // namespace

awaitable<position> locate_start(
    connection& db, std::string stream, start_point start, std::string key, deadline_t deadline
) {
    query what = start_query(stream, start, key);
    const result rows = co_await ask(db, std::move(what), deadline);
    position found;
    found.info.stream = std::move(stream);
    if (rows.rows() == 0) {
        if (start.kind == start_kind::after) found.after = start.value;
        co_return found;
    }
    fill_info(found.info, rows, 0, 0);
    std::optional<offset_t> looked_for;
    if (rows.columns() > 5 && !rows.is_null(0, 5)) looked_for = rows.integer(0, 5);
    const stream_bounds& bounds = found.info.bounds;
    found.after = start.kind == start_kind::last
                      ? start_of_last(bounds, start.value, key, looked_for)
                      : start_of(bounds, start, looked_for);
    co_return found;
}

// ---------------------------------------------------------------- lists

awaitable<std::vector<stream_info>> list_streams(
    connection& db, std::string prefix, std::string after, std::size_t limit, deadline_t deadline
) {
    query what(queries::list_streams);
    what.text(after).text(prefix).integer(static_cast<std::int64_t>(limit));
    const result rows = co_await ask(db, std::move(what), deadline);
    std::vector<stream_info> found;
    for (int row = 0; row < rows.rows(); ++row) {
        // Names are in byte order, so those with the prefix stand together.
        if (!rows.bytes(row, 5).starts_with(prefix)) break;
        stream_info& added = found.emplace_back();
        added.stream = rows.text(row, 5);
        fill_info(added, rows, row, 0);
    }
    co_return found;
}

awaitable<offset_t>
read_saved_offset(connection& db, std::string stream, std::string consumer, deadline_t deadline) {
    query what(queries::find_consumer);
    what.text(stream).text(consumer);
    const result rows = co_await ask(db, std::move(what), deadline);
    if (rows.rows() == 0) throw unknown_stream();
    co_return rows.is_null(0, 5) ? 0 : rows.integer(0, 5);
}

awaitable<std::vector<consumer_offset>>
list_consumers(connection& db, std::string stream, deadline_t deadline) {
    query what(queries::list_consumers);
    what.text(stream);
    const result rows = co_await ask(db, std::move(what), deadline);
    if (rows.rows() == 0) throw unknown_stream();
    std::vector<consumer_offset> saved;
    for (int row = 0; row < rows.rows(); ++row) {
        if (rows.is_null(row, 0)) continue;
        consumer_offset& added = saved.emplace_back();
        added.consumer = rows.text(row, 0);
        added.offset = rows.integer(row, 1);
    }
    co_return saved;
}

} // namespace streamld::store::postgres
