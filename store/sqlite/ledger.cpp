#include "store/sqlite/ledger.hpp"

#include "store/sqlite/callers_statement.hpp"
#include "store/sqlite/queries.hpp"

#include <sqlite3.h>

#include <algorithm>
#include <ctime>

namespace streamld::store::sqlite {

namespace {

constexpr std::size_t rows_kept_max = 65536;
constexpr std::int64_t purge_piece = 500;      // Rows deleted in one transaction of a trim.
constexpr std::int64_t token_seconds = 86'400; // An idempotency key lives at least this long.

error unknown_stream() {
    return error(errc::unknown_stream, "the stream does not exist");
}

} // namespace

struct ledger::prepared {
    explicit prepared(connection& db)
        : begin(db, "BEGIN IMMEDIATE"), commit(db, "COMMIT"),
          data_version(db, "PRAGMA data_version"), find_stream(db, queries::find_stream),
          create_stream(db, queries::create_stream), update_stream(db, queries::update_stream),
          update_horizon(db, queries::update_horizon), newest_change(db, queries::newest_change),
          insert_event(db, queries::insert_event), find_consumer(db, queries::find_consumer),
          list_consumers(db, queries::list_consumers), save_consumer(db, queries::save_consumer),
          forget_consumer(db, queries::forget_consumer), find_token(db, queries::find_token),
          save_token(db, queries::save_token), oldest_event(db, queries::oldest_event),
          delete_events(db, queries::delete_events), delete_tokens(db, queries::delete_tokens),
          touch_probe(db, queries::touch_probe) {}

    statement begin, commit, data_version;
    statement find_stream, create_stream, update_stream, update_horizon, newest_change;
    statement insert_event;
    statement find_consumer, list_consumers, save_consumer, forget_consumer;
    statement find_token, save_token;
    statement oldest_event, delete_events, delete_tokens, touch_probe;
};

ledger::ledger(const database_settings& settings, patience how_long)
    : db_(open_connection(settings, false, std::move(how_long))),
      sql_(std::make_unique<prepared>(*db_)) {
    sqlite3_wal_hook(db_->raw(), &ledger::on_wal, this);
}

ledger::~ledger() = default;

int ledger::on_wal(void* self, sqlite3* /*db*/, const char* /*name*/, int pages) {
    auto& own = *static_cast<ledger*>(self);
    own.wal_pages_ = pages;
    own.has_written_ = true;
    return SQLITE_OK;
}

// ---------------------------------------------------------------- the transaction

bool ledger::begin() {
    retired_.clear();
    appends_.clear();
    purges_.clear();
    dirty_.clear();
    has_change_ = false;
    has_foreign_change_ = false;
    has_written_ = false;
    sql_->begin.run();
    now_ = std::time(nullptr);
    const row_scope scope(sql_->data_version);
    sql_->data_version.step();
    const std::int64_t version = sql_->data_version.integer(0);
    const bool is_foreign = version != data_version_;
    const bool is_first = data_version_ == -1;
    data_version_ = version;
    if (is_foreign || rows_.size() > rows_kept_max) forget_rows();
    return is_foreign && !is_first;
}

void ledger::commit() {
    write_back();
    sql_->commit.run();
}

bool ledger::roll_back() noexcept {
    forget_rows();
    appends_.clear();
    purges_.clear();
    return db_->roll_back();
}

void ledger::forget_rows() noexcept {
    dirty_.clear();
    if (!rows_.empty()) retired_.push_back(std::move(rows_));
    rows_.clear();
    newest_change_ = -1;
}

std::optional<std::int64_t> ledger::change() const noexcept {
    if (!has_change_ || has_foreign_change_) return std::nullopt;
    return newest_change_;
}

// One update per stream and transaction, however many events it got.
void ledger::write_back() {
    if (dirty_.empty()) return;
    if (newest_change_ < 0) {
        const row_scope scope(sql_->newest_change);
        newest_change_ = sql_->newest_change.step() ? sql_->newest_change.integer(0) : 0;
    }
    const bool has_publish = std::any_of(dirty_.begin(), dirty_.end(), [](const row* stream) {
        return stream->has_new_head;
    });
    if (has_publish) {
        ++newest_change_;
        has_change_ = true;
    }
    for (row* stream : dirty_) {
        if (stream->has_new_head) {
            sql_->update_stream.bind(1, stream->id).bind(2, stream->head).bind(3, stream->horizon);
            sql_->update_stream.bind(4, newest_change_)
                .bind(5, stream->last_event_at.value_or(now_))
                .run();
        } else {
            sql_->update_horizon.bind(1, stream->id).bind(2, stream->horizon).run();
        }
        stream->has_new_head = false;
        stream->has_new_horizon = false;
    }
    dirty_.clear();
}

// ---------------------------------------------------------------- streams

void ledger::mark(row& stream) {
    if (!stream.has_new_head && !stream.has_new_horizon) dirty_.push_back(&stream);
}

ledger::row* ledger::find(const std::string& stream) {
    const auto known_row = rows_.find(stream);
    if (known_row != rows_.end()) return &known_row->second;
    auto& query = sql_->find_stream;
    query.bind_text(1, stream);
    const row_scope scope(query);
    if (!query.step()) return nullptr;
    row& added = rows_[stream];
    added.id = query.integer(0);
    added.name = stream;
    added.epoch = query.bytes(1);
    added.head = query.integer(2);
    added.horizon = query.integer(3);
    added.created_at = query.integer(4);
    if (!query.is_null(5)) added.last_event_at = query.integer(5);
    return &added;
}

ledger::row& ledger::obtain(const std::string& stream) {
    if (row* found = find(stream)) return *found;
    sql_->create_stream.bind_text(1, stream).bind(2, now_).run();
    return *find(stream);
}

ledger::row& ledger::known(const std::string& stream) {
    row* found = find(stream);
    if (found == nullptr) throw unknown_stream();
    return *found;
}

stream_info ledger::info_of(const row& from) {
    stream_info info;
    info.stream = from.name;
    info.bounds.exists = true;
    info.bounds.epoch = from.epoch;
    info.bounds.head = from.head;
    info.bounds.horizon = from.horizon;
    info.created_at = from.created_at;
    info.last_event_at = from.last_event_at;
    return info;
}

engine::created ledger::create(const std::string& stream) {
    engine::created result;
    result.is_new = find(stream) == nullptr;
    result.info = info_of(obtain(stream));
    return result;
}

// ---------------------------------------------------------------- publishing

append_outcome ledger::append(const checked_append& publish) {
    const append_request& request = publish.request;
    row* found = find(request.stream);
    if (const auto earlier = replayed(found, publish)) return *earlier;
    const offset_t head = found == nullptr ? 0 : found->head;
    if (request.expected_head && *request.expected_head != head)
        throw error(errc::precondition, "the stream's head is another", head);
    const auto count = static_cast<offset_t>(request.events.size());
    if (count > stream_offset_max - head) throw error(errc::full, "the stream has no numbers left");

    row& stream = found == nullptr ? obtain(request.stream) : *found;
    insert_events(stream, request);
    mark(stream);
    stream.has_new_head = true;
    stream.head += count;
    stream.last_event_at = now_;

    append_outcome outcome;
    outcome.first = head + 1;
    outcome.last = stream.head;
    outcome.created_at = now_;
    save_token(stream, publish, outcome);

    store_observer::committed_append report;
    report.stream = stream.name;
    report.epoch = stream.epoch;
    report.content_type = request.content_type;
    report.events = request.events;
    report.first = outcome.first;
    report.created_at = now_;
    appends_.push_back(report);
    return outcome;
}

void ledger::insert_events(const row& stream, const append_request& request) {
    auto& insert = sql_->insert_event;
    const bool is_json = is_json_type(request.content_type);
    if (request.content_type == default_content_type) {
        insert.bind_null(4);
    } else {
        insert.bind_text(4, request.content_type);
    }
    insert.bind(2, now_);
    std::int64_t id = packed_id(stream.id, stream.head);
    for (const auto& event : request.events) {
        insert.bind(1, ++id).bind(3, std::int64_t{event.is_snapshot});
        if (event.key) {
            insert.bind_text(5, *event.key);
        } else {
            insert.bind_null(5);
        }
        if (is_json) {
            insert.bind_text(6, event.payload);
        } else {
            insert.bind_blob(6, event.payload);
        }
        insert.run();
    }
}

std::optional<append_outcome> ledger::replayed(const row* stream, const checked_append& publish) {
    if (stream == nullptr || publish.request.idempotency_key.empty()) return std::nullopt;
    auto& query = sql_->find_token;
    query.bind(1, stream->id).bind_text(2, publish.request.idempotency_key);
    const row_scope scope(query);
    if (!query.step()) return std::nullopt;
    if (query.bytes(0) != publish.fingerprint)
        throw error(
            errc::idempotency_conflict, "this idempotency key was used for another publish"
        );
    append_outcome outcome;
    outcome.first = query.integer(1);
    outcome.last = query.integer(2);
    outcome.created_at = query.integer(3);
    outcome.replayed = true;
    return outcome;
}

void ledger::save_token(
    const row& stream, const checked_append& publish, const append_outcome& outcome
) {
    if (publish.request.idempotency_key.empty()) return;
    auto& save = sql_->save_token;
    save.bind(1, stream.id)
        .bind_text(2, publish.request.idempotency_key)
        .bind_blob(3, publish.fingerprint);
    save.bind(4, outcome.first).bind(5, outcome.last).bind(6, now_).run();
}

// ---------------------------------------------------------------- consumers

save_outcome
ledger::save_offset(const std::string& stream, const std::string& consumer, offset_t offset) {
    const row& known_row = known(stream);
    if (offset > known_row.head)
        throw error(errc::invalid_cursor, "the offset is beyond the stream's head", known_row.head);
    auto& query = sql_->find_consumer;
    query.bind(1, known_row.id).bind_text(2, consumer);
    const row_scope scope(query);
    const bool is_known = query.step();
    const offset_t saved = is_known ? query.integer(0) : 0;
    save_outcome outcome;
    outcome.offset = std::max(saved, offset);
    outcome.advanced = offset > saved;
    // A consumer that saves 0 is on record, so a guarded trim waits for it.
    if (outcome.advanced || !is_known)
        sql_->save_consumer.bind(1, known_row.id).bind_text(2, consumer).bind(3, offset).run();
    return outcome;
}

void ledger::forget_consumer(const std::string& stream, const std::string& consumer) {
    const row& known_row = known(stream);
    sql_->forget_consumer.bind(1, known_row.id).bind_text(2, consumer).run();
}

std::vector<consumer_offset> ledger::consumers_below(const row& stream, offset_t horizon) {
    auto& query = sql_->list_consumers;
    query.bind(1, stream.id);
    const row_scope scope(query);
    std::vector<consumer_offset> behind;
    while (query.step()) {
        if (query.integer(1) >= horizon) continue;
        consumer_offset& added = behind.emplace_back();
        added.consumer = query.bytes(0);
        added.offset = query.integer(1);
    }
    return behind;
}

// ---------------------------------------------------------------- trims

trim_outcome ledger::trim(const trim_request& request) {
    row& stream = known(request.stream);
    const offset_t horizon = std::max(stream.horizon, std::min(request.through, stream.head));
    trim_outcome outcome;
    outcome.consumers_behind = consumers_below(stream, horizon);
    if (request.guard_consumers && !request.dry_run && !outcome.consumers_behind.empty())
        throw error(
            errc::consumers_behind,
            "a consumer's saved offset is below the new horizon",
            stream.head
        );
    outcome.removed = horizon - stream.horizon;
    outcome.info = info_of(stream);
    outcome.info.bounds.horizon = horizon;
    if (request.dry_run || outcome.removed == 0) return outcome;
    // The horizon hides the events at once; their rows go in pieces, after the commit.
    mark(stream);
    stream.has_new_horizon = true;
    stream.horizon = horizon;
    purge& left = purges_.emplace_back();
    left.stream_id = stream.id;
    left.horizon = horizon;
    return outcome;
}

bool ledger::delete_piece(const purge& what) {
    const std::int64_t end = packed_id(what.stream_id, what.horizon);
    auto& query = sql_->oldest_event;
    query.bind(1, packed_id(what.stream_id, 0)).bind(2, end);
    std::int64_t oldest = -1;
    {
        const row_scope scope(query);
        if (query.step()) oldest = query.integer(0);
    }
    if (oldest >= 0) {
        sql_->delete_events.bind(1, oldest).bind(2, std::min(oldest + purge_piece - 1, end)).run();
        return false;
    }
    sql_->delete_tokens.bind(1, what.stream_id).bind(2, what.horizon);
    sql_->delete_tokens.bind(3, now_ - token_seconds).bind(4, purge_piece).run();
    return sqlite3_changes64(db_->raw()) < purge_piece;
}

std::vector<purge> ledger::unfinished_trims() {
    statement query(*db_, queries::unfinished_trims);
    std::vector<purge> found;
    while (query.step()) {
        purge& added = found.emplace_back();
        added.stream_id = query.integer(0);
        added.horizon = query.integer(1);
    }
    return found;
}

void ledger::touch_probe() {
    sql_->touch_probe.bind(1, now_).run();
}

std::vector<tx_handle::sql_row>
ledger::execute(const std::string& sql, const std::vector<tx_handle::sql_value>& parameters) {
    // The statement may look at our tables or publish through the view, so it must meet them as
    // they are.
    write_back();
    try {
        auto result = run_callers_statement(*db_, sql, parameters);
        if (result.may_have_written) forget_callers_writes();
        return std::move(result.rows);
    } catch (...) {
        // A statement that failed may have left what it wrote before (OR FAIL).
        forget_callers_writes();
        throw;
    }
}

void ledger::forget_callers_writes() noexcept {
    forget_rows();
    has_foreign_change_ = true;
}

} // namespace streamld::store::sqlite
