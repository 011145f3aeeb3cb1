#include "store/sqlite/reader.hpp"

#include "store/sqlite/page_builder.hpp"
#include "store/sqlite/queries.hpp"

#include <algorithm>

namespace streamld::store::sqlite {

struct reader::opened {
    explicit opened(std::unique_ptr<connection> from)
        : db(std::move(from)), begin(*db, "BEGIN"), end(*db, "COMMIT"),
          find_stream(*db, queries::find_stream), list_streams(*db, queries::list_streams),
          read_events(*db, queries::read_events), read_key(*db, queries::read_key),
          nth_last_of_key(*db, queries::nth_last_of_key),
          newest_snapshot(*db, queries::newest_snapshot),
          newest_snapshot_of_key(*db, queries::newest_snapshot_of_key),
          find_consumer(*db, queries::find_consumer), list_consumers(*db, queries::list_consumers) {
    }

    std::unique_ptr<connection> db;
    statement begin, end;
    statement find_stream, list_streams;
    statement read_events, read_key, nth_last_of_key, newest_snapshot, newest_snapshot_of_key;
    statement find_consumer, list_consumers;

    std::optional<found_stream> find(const std::string& stream);
    offset_t start_of(const found_stream& stream, const start_point& start, const std::string& key);
    offset_t before_last(const found_stream& stream, offset_t count, const std::string& key);
    offset_t before_snapshot(const found_stream& stream, const std::string& key);
    std::optional<offset_t>
    consumer_offset_of(const found_stream& stream, const std::string& consumer);
};

struct reader::found_stream {
    std::int64_t id = 0;
    stream_info info;
};

namespace {

// Columns epoch, head, horizon, created_at, last_event_at from `first` on.
void fill(stream_info& info, const statement& query, int first) {
    info.bounds.exists = true;
    info.bounds.epoch = query.bytes(first);
    info.bounds.head = query.integer(first + 1);
    info.bounds.horizon = query.integer(first + 2);
    info.created_at = query.integer(first + 3);
    if (!query.is_null(first + 4)) info.last_event_at = query.integer(first + 4);
}

error unknown_stream() {
    return error(errc::unknown_stream, "the stream does not exist");
}

} // namespace

reader::reader(const database_settings& settings, file_identity& identity)
    : settings_(settings), identity_(identity) {}

reader::~reader() = default;

// Runs `work` in one read transaction. After a fault of the storage the next call opens another
// connection.
template <class Work>
auto reader::in_snapshot(Work work) {
    if (!open_ || identity_.is_replaced()) identity_.check();
    try {
        if (!open_) open_ = std::make_unique<opened>(open_connection(settings_, true));
        open_->begin.run();
        auto result = work(*open_);
        open_->end.run();
        return result;
    } catch (const storage_fault&) {
        open_.reset();
        throw;
    } catch (...) {
        if (!open_->db->roll_back()) open_.reset();
        throw;
    }
}

std::optional<reader::found_stream> reader::opened::find(const std::string& stream) {
    find_stream.bind_text(1, stream);
    const row_scope scope(find_stream);
    if (!find_stream.step()) return std::nullopt;
    found_stream found;
    found.id = find_stream.integer(0);
    found.info.stream = stream;
    fill(found.info, find_stream, 1);
    return found;
}

std::optional<stream_info> reader::info(const std::string& stream) {
    return in_snapshot([&](opened& open) -> std::optional<stream_info> {
        auto found = open.find(stream);
        if (!found) return std::nullopt;
        return std::move(found->info);
    });
}

// ---------------------------------------------------------------- events

event_page reader::read(const read_request& request) {
    return in_snapshot([&](opened& open) {
        event_page page;
        const auto found = open.find(request.stream);
        if (!found) {
            page.scanned = request.after;
            return page;
        }
        page.bounds = found->info.bounds;
        const offset_t from = std::max(request.after, page.bounds.horizon);
        const offset_t through = std::min(request.through, page.bounds.head);
        page.scanned = std::max(request.after, through);
        if (from >= through || request.events_max == 0) {
            if (from < through) page.scanned = request.after;
            return page;
        }
        auto& query = request.key.empty() ? open.read_events : open.read_key;
        query.bind(1, packed_id(found->id, from)).bind(2, packed_id(found->id, through));
        // One row more than asked for tells a full page from a finished one.
        query.bind(
            3, static_cast<std::int64_t>(std::min(request.events_max, std::size_t{1} << 32)) + 1
        );
        if (!request.key.empty()) query.bind_text(4, request.key);
        const row_scope scope(query);
        page.events.reserve(std::min(request.events_max, static_cast<std::size_t>(through - from)));
        page_builder build(page);
        while (query.step()) {
            if (page.events.size() >= request.events_max || build.size() >= request.bytes_max) {
                page.scanned = page.events.back().offset;
                break;
            }
            build.add(query, offset_of(query.integer(0)));
        }
        return page;
    });
}

// ---------------------------------------------------------------- starts

position
reader::locate(const std::string& stream, const start_point& start, const std::string& key) {
    return in_snapshot([&](opened& open) {
        position result;
        auto found = open.find(stream);
        if (!found) {
            result.info.stream = stream;
            if (start.kind == start_kind::after) result.after = start.value;
            return result;
        }
        result.after = open.start_of(*found, start, key);
        result.info = std::move(found->info);
        return result;
    });
}

offset_t reader::opened::start_of(
    const found_stream& stream, const start_point& start, const std::string& key
) {
    const stream_bounds& bounds = stream.info.bounds;
    switch (start.kind) {
    case start_kind::live:
        return bounds.head;
    case start_kind::after:
        return start.value;
    case start_kind::oldest:
        return bounds.horizon;
    case start_kind::last:
        return before_last(stream, start.value, key);
    case start_kind::snapshot:
        return before_snapshot(stream, key);
    case start_kind::consumer:
        return consumer_offset_of(stream, start.consumer).value_or(0);
    }
    return bounds.head;
}

offset_t
reader::opened::before_last(const found_stream& stream, offset_t count, const std::string& key) {
    const stream_bounds& bounds = stream.info.bounds;
    if (count <= 0) return bounds.head;
    // Without a filter the surviving events are dense, so this is arithmetic.
    if (key.empty()) return std::max(bounds.horizon, bounds.head - std::min(count, bounds.head));
    nth_last_of_key.bind(1, packed_id(stream.id, bounds.horizon))
        .bind(2, packed_id(stream.id, bounds.head));
    nth_last_of_key.bind(3, count - 1).bind_text(4, key);
    const row_scope scope(nth_last_of_key);
    return nth_last_of_key.step() ? offset_of(nth_last_of_key.integer(0)) - 1 : bounds.horizon;
}

offset_t reader::opened::before_snapshot(const found_stream& stream, const std::string& key) {
    const stream_bounds& bounds = stream.info.bounds;
    auto& query = key.empty() ? newest_snapshot : newest_snapshot_of_key;
    query.bind(1, packed_id(stream.id, bounds.horizon)).bind(2, packed_id(stream.id, bounds.head));
    if (!key.empty()) query.bind_text(3, key);
    const row_scope scope(query);
    return query.step() ? offset_of(query.integer(0)) - 1 : bounds.horizon;
}

// ---------------------------------------------------------------- lists

std::vector<stream_info>
reader::streams(const std::string& prefix, const std::string& after, std::size_t limit) {
    return in_snapshot([&](opened& open) {
        std::vector<stream_info> found;
        auto& query = open.list_streams;
        query.bind_text(1, after).bind_text(2, prefix).bind(3, static_cast<std::int64_t>(limit));
        const row_scope scope(query);
        while (query.step()) {
            // Names are in byte order, so those with the prefix stand together.
            if (!query.bytes(0).starts_with(prefix)) break;
            stream_info& added = found.emplace_back();
            added.stream = query.bytes(0);
            fill(added, query, 1);
        }
        return found;
    });
}

std::optional<offset_t>
reader::opened::consumer_offset_of(const found_stream& stream, const std::string& consumer) {
    find_consumer.bind(1, stream.id).bind_text(2, consumer);
    const row_scope scope(find_consumer);
    if (!find_consumer.step()) return std::nullopt;
    return find_consumer.integer(0);
}

offset_t reader::saved_offset(const std::string& stream, const std::string& consumer) {
    return in_snapshot([&](opened& open) {
        const auto found = open.find(stream);
        if (!found) throw unknown_stream();
        return open.consumer_offset_of(*found, consumer).value_or(0);
    });
}

std::vector<consumer_offset> reader::consumers(const std::string& stream) {
    return in_snapshot([&](opened& open) {
        const auto found = open.find(stream);
        if (!found) throw unknown_stream();
        std::vector<consumer_offset> saved;
        auto& query = open.list_consumers;
        query.bind(1, found->id);
        const row_scope scope(query);
        while (query.step()) {
            consumer_offset& added = saved.emplace_back();
            added.consumer = query.bytes(0);
            added.offset = query.integer(1);
        }
        return saved;
    });
}

} // namespace streamld::store::sqlite
