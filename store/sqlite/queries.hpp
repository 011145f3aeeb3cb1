#pragma once
// Every statement of the SQLite engine. Ids of events are packed: stream id * 2^40 + offset.

#include "store/event.hpp"

#include <cstdint>

namespace streamld::store::sqlite {

inline constexpr int offset_bits = 40;
inline constexpr std::int64_t stream_offset_max = (std::int64_t{1} << offset_bits) - 1;
inline constexpr std::int64_t stream_id_max = (std::int64_t{1} << 23) - 1;

[[nodiscard]] constexpr std::int64_t packed_id(std::int64_t stream_id, offset_t offset) noexcept {
    return (stream_id << offset_bits) + offset;
}

[[nodiscard]] constexpr offset_t offset_of(std::int64_t event_id) noexcept {
    return event_id & stream_offset_max;
}

namespace queries {

// One stream by its name.
inline constexpr const char* find_stream = R"(
SELECT id, epoch, head, horizon, created_at, last_event_at
FROM streamld_stream
WHERE name = ?1)";

// Names in byte order; the caller stops where the prefix ends.
inline constexpr const char* list_streams = R"(
SELECT name, epoch, head, horizon, created_at, last_event_at
FROM streamld_stream
WHERE name > ?1 AND name >= ?2
ORDER BY name
LIMIT ?3)";

inline constexpr const char* create_stream = R"(
INSERT INTO streamld_stream (name, epoch, created_at)
VALUES (?1, lower(hex(randomblob(8))), ?2))";

// The head, horizon and time of one stream at the end of a group of publishes.
inline constexpr const char* update_stream = R"(
UPDATE streamld_stream
SET head = ?2, horizon = ?3, changed = ?4, last_event_at = ?5
WHERE id = ?1)";

// A trim moves the horizon only; it must not look like a publish to the watchers.
inline constexpr const char* update_horizon = R"(
UPDATE streamld_stream
SET horizon = ?2
WHERE id = ?1)";

// The newest of the numbers that say what changed.
inline constexpr const char* newest_change = R"(
SELECT max(changed)
FROM streamld_stream)";

// What the watcher asks after somebody's commit.
inline constexpr const char* changed_streams = R"(
SELECT name, head, changed
FROM streamld_stream
WHERE changed > ?1
ORDER BY changed
LIMIT ?2)";

inline constexpr const char* insert_event = R"(
INSERT INTO streamld_event (id, created_at, is_snapshot, is_checked, content_type, key, payload)
VALUES (?1, ?2, ?3, 1, ?4, ?5, ?6))";

// A page of everything.
inline constexpr const char* read_events = R"(
SELECT id, created_at, is_snapshot, is_checked, content_type, key, payload
FROM streamld_event
WHERE id > ?1 AND id <= ?2
ORDER BY id
LIMIT ?3)";

// A page of one key.
inline constexpr const char* read_key = R"(
SELECT id, created_at, is_snapshot, is_checked, content_type, key, payload
FROM streamld_event
WHERE key = ?4 AND id > ?1 AND id <= ?2
ORDER BY id
LIMIT ?3)";

// The last ?3 matching events' oldest: where `last=` with a key begins.
inline constexpr const char* nth_last_of_key = R"(
SELECT id
FROM streamld_event
WHERE key = ?4 AND id > ?1 AND id <= ?2
ORDER BY id DESC
LIMIT 1 OFFSET ?3)";

inline constexpr const char* newest_snapshot = R"(
SELECT id
FROM streamld_event
WHERE is_snapshot = 1 AND id > ?1 AND id <= ?2
ORDER BY id DESC
LIMIT 1)";

// The newest snapshot among one key's events: snapshots are few beside a key's events, or the other
// way round; SQLite picks the index.
inline constexpr const char* newest_snapshot_of_key = R"(
SELECT id
FROM streamld_event
WHERE is_snapshot = 1 AND key = ?3 AND id > ?1 AND id <= ?2
ORDER BY id DESC
LIMIT 1)";

inline constexpr const char* find_consumer = R"(
SELECT saved
FROM streamld_consumer
WHERE stream = ?1 AND name = ?2)";

inline constexpr const char* list_consumers = R"(
SELECT name, saved
FROM streamld_consumer
WHERE stream = ?1
ORDER BY name)";

inline constexpr const char* save_consumer = R"(
INSERT INTO streamld_consumer (stream, name, saved)
VALUES (?1, ?2, ?3)
ON CONFLICT (stream, name) DO UPDATE
SET saved = excluded.saved)";

inline constexpr const char* forget_consumer = R"(
DELETE FROM streamld_consumer
WHERE stream = ?1 AND name = ?2)";

inline constexpr const char* find_token = R"(
SELECT fingerprint, first, last, created_at
FROM streamld_idempotency
WHERE stream = ?1 AND token = ?2)";

inline constexpr const char* save_token = R"(
INSERT INTO streamld_idempotency (stream, token, fingerprint, first, last, created_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6))";

// Trims that have rows left to delete: at the open, since a crash may have left some.
inline constexpr const char* unfinished_trims = R"(
SELECT s.id, s.horizon
FROM streamld_stream AS s
WHERE s.horizon > 0
    AND (EXISTS (
            SELECT 1
            FROM streamld_event AS e
            WHERE e.id > (s.id << 40) AND e.id <= (s.id << 40) + s.horizon)
        OR EXISTS (
            SELECT 1
            FROM streamld_idempotency AS t
            WHERE t.stream = s.id AND t.last <= s.horizon)))";

// The oldest row that a trim still has to delete.
inline constexpr const char* oldest_event = R"(
SELECT id
FROM streamld_event
WHERE id > ?1 AND id <= ?2
ORDER BY id
LIMIT 1)";

inline constexpr const char* delete_events = R"(
DELETE FROM streamld_event
WHERE id >= ?1 AND id <= ?2)";

// A piece of the tokens of trimmed events that are older than a day.
inline constexpr const char* delete_tokens = R"(
DELETE FROM streamld_idempotency
WHERE stream = ?1 AND token IN (
    SELECT token
    FROM streamld_idempotency
    WHERE stream = ?1 AND last <= ?2 AND created_at < ?3
    ORDER BY last
    LIMIT ?4))";

inline constexpr const char* touch_probe = R"(
INSERT INTO streamld_meta (key, value)
VALUES ('probe', ?1)
ON CONFLICT (key) DO UPDATE
SET value = excluded.value)";

} // namespace queries

} // namespace streamld::store::sqlite
