#pragma once

// Every statement of the Postgres engine; the rules of writing are functions of the schema
// (schema/*.sql). Names are those of the SQLite engine where both have the statement.

namespace streamld::store::postgres::queries {

// The functions of the schema count on a snapshot for each statement, whatever the database's
// default is.
inline constexpr const char* begin = "BEGIN ISOLATION LEVEL READ COMMITTED";
inline constexpr const char* commit = "COMMIT";

// A group of publishes; one row for each, in their order.
inline constexpr const char* append = R"(
SELECT verdict, first, last, created_at, head, epoch
FROM streamld.gateway_append($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12))";

inline constexpr const char* create_stream = R"(
SELECT is_new, epoch, head, horizon, created_at, last_event_at
FROM streamld.gateway_create($1))";

inline constexpr const char* save_consumer = R"(
SELECT verdict, saved, advanced, head
FROM streamld.gateway_save_offset($1, $2, $3))";

inline constexpr const char* forget_consumer = R"(
WITH known AS (
    SELECT id
    FROM streamld.stream
    WHERE name = $1
), forgotten AS (
    DELETE FROM streamld.consumer
    WHERE stream_id = (SELECT id FROM known) AND name = $2
)
SELECT count(*)
FROM known)";

inline constexpr const char* trim = R"(
SELECT verdict, removed, stream_id, epoch, head, horizon, created_at, last_event_at
FROM streamld.gateway_trim($1, $2, $3, $4, $5))";

// Who is below the horizon that a trim up to $2 leads to; in the trim's own transaction, which
// holds the stream's row.
inline constexpr const char* consumers_below = R"(
SELECT c.name, c.saved
FROM streamld.stream AS s
JOIN streamld.consumer AS c ON c.stream_id = s.id
WHERE s.name = $1 AND c.saved < greatest(s.horizon, least($2, s.head))
ORDER BY c.name)";

// One stream by its name.
inline constexpr const char* find_stream = R"(
SELECT epoch, head, horizon, created_at, last_event_at
FROM streamld.stream
WHERE name = $1)";

// Names in byte order; the caller stops where the prefix ends.
inline constexpr const char* list_streams = R"(
SELECT epoch, head, horizon, created_at, last_event_at, name
FROM streamld.stream
WHERE name > $1 AND name >= $2
ORDER BY name
LIMIT $3)";

// A page: bounds and events of one snapshot. One row more than asked for tells a full page from a
// finished one (`found`); the sum keeps the answer within a number of bytes without reading the
// payloads that are left out. A stream without events in the range gives one row. $6: one key only;
// null: all. Unnamed statements are planned with their values, so either way the index is its own.
inline constexpr const char* read_events = R"(
SELECT
    s.epoch, s.head, s.horizon,
    e.sequence, e.created_at, e.is_snapshot, e.is_checked, e.content_type, e.key, e.payload, e.found
FROM streamld.stream AS s
LEFT JOIN LATERAL (
    SELECT
        p.sequence, p.created_at, p.is_snapshot, p.is_checked, p.content_type, p.key, p.payload,
        count(*) OVER () AS found,
        row_number() OVER before AS place,
        sum(octet_length(p.payload)) OVER before - octet_length(p.payload) AS bytes_before
    FROM (
        SELECT sequence, created_at, is_snapshot, is_checked, content_type, key, payload
        FROM streamld.event
        WHERE stream_id = s.id AND ($6::text IS NULL OR key = $6)
            AND sequence > greatest($2, s.horizon) AND sequence <= least($3, s.head)
        ORDER BY sequence
        LIMIT $4 + 1
    ) AS p
    WINDOW before AS (ORDER BY p.sequence ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
) AS e ON e.bytes_before < $5 AND e.place <= $4
WHERE s.name = $1
ORDER BY e.sequence)";

// The last $2 matching events' oldest: where `last=` with a key begins.
inline constexpr const char* nth_last_of_key = R"(
SELECT s.epoch, s.head, s.horizon, s.created_at, s.last_event_at, (
    SELECT e.sequence
    FROM streamld.event AS e
    WHERE e.stream_id = s.id AND e.key = $3 AND e.sequence > s.horizon AND e.sequence <= s.head
    ORDER BY e.sequence DESC
    LIMIT 1 OFFSET $2 - 1)
FROM streamld.stream AS s
WHERE s.name = $1)";

// The newest snapshot; $2: one key's only; null: any.
inline constexpr const char* newest_snapshot = R"(
SELECT s.epoch, s.head, s.horizon, s.created_at, s.last_event_at, (
    SELECT e.sequence
    FROM streamld.event AS e
    WHERE e.stream_id = s.id AND e.is_snapshot AND ($2::text IS NULL OR e.key = $2)
        AND e.sequence > s.horizon AND e.sequence <= s.head
    ORDER BY e.sequence DESC
    LIMIT 1)
FROM streamld.stream AS s
WHERE s.name = $1)";

// A stream and one consumer's saved offset.
inline constexpr const char* find_consumer = R"(
SELECT s.epoch, s.head, s.horizon, s.created_at, s.last_event_at, c.saved
FROM streamld.stream AS s
LEFT JOIN streamld.consumer AS c ON c.stream_id = s.id AND c.name = $2
WHERE s.name = $1)";

// One row with a null name where the stream has no consumers.
inline constexpr const char* list_consumers = R"(
SELECT c.name, c.saved
FROM streamld.stream AS s
LEFT JOIN streamld.consumer AS c ON c.stream_id = s.id
WHERE s.name = $1
ORDER BY c.name)";

// What the watcher asks: the streams that were published to since the last look, whose snapshot is
// $1. Whatever was not visible to that snapshot has a transaction number of its xmin or above, so
// this is a range of the index. Numbers beyond the newest are those of a restored backup's old
// server. The first column is the snapshot for the next time, in every row.
inline constexpr const char* changed_streams = R"(
SELECT now.snapshot::text, s.name, s.head
FROM (SELECT pg_current_snapshot() AS snapshot) AS now
LEFT JOIN streamld.stream AS s
    ON s.changed >= pg_snapshot_xmin($1::pg_snapshot)
    AND s.changed < pg_snapshot_xmax(now.snapshot)
    AND NOT pg_visible_in_snapshot(s.changed, $1::pg_snapshot)
LIMIT $2)";

// Where the watcher begins.
inline constexpr const char* current_snapshot = R"(
SELECT pg_current_snapshot()::text)";

inline constexpr const char* listen = "LISTEN streamld";

inline constexpr const char* notify = "SELECT pg_notify('streamld', $1)";

// Who holds what the statement of the server process $1 waits for.
inline constexpr const char* blockers = R"(
SELECT a.pid, coalesce(a.usename, ''), coalesce(a.application_name, ''), coalesce(a.state, ''),
    floor(extract(epoch FROM clock_timestamp() - a.xact_start))::bigint
FROM pg_stat_activity AS a
WHERE a.pid = ANY (pg_blocking_pids($1))
ORDER BY a.xact_start
LIMIT 1)";

// Trims that have rows left to delete: at the open, since a crash may have left some.
inline constexpr const char* unfinished_trims = R"(
SELECT s.id, s.horizon
FROM streamld.stream AS s
WHERE s.horizon > 0
    AND (EXISTS (
            SELECT 1
            FROM streamld.event AS e
            WHERE e.stream_id = s.id AND e.sequence <= s.horizon)
        OR EXISTS (
            SELECT 1
            FROM streamld.idempotency AS t
            WHERE t.stream_id = s.id AND t.last <= s.horizon)))";

// The next piece of a trim.
inline constexpr const char* delete_events = R"(
DELETE FROM streamld.event
WHERE stream_id = $1 AND sequence <= $2 AND sequence < $3 + (
    SELECT min(sequence)
    FROM streamld.event
    WHERE stream_id = $1 AND sequence <= $2))";

// A piece of the tokens of trimmed events that are older than a day.
inline constexpr const char* delete_tokens = R"(
DELETE FROM streamld.idempotency
WHERE stream_id = $1 AND token IN (
    SELECT token
    FROM streamld.idempotency
    WHERE stream_id = $1 AND last <= $2
        AND created_at < extract(epoch FROM clock_timestamp()) - 86400
    ORDER BY last
    LIMIT $3))";

// Shows that a write succeeds now.
inline constexpr const char* touch_probe = R"(
INSERT INTO streamld.meta (key, value)
VALUES ('probe', extract(epoch FROM clock_timestamp())::text)
ON CONFLICT (key) DO UPDATE
SET value = excluded.value)";

// For the transaction under way only.
inline constexpr const char* set_lock_timeout = "SELECT set_config('lock_timeout', $1, true)";

// What the schema's tables and indexes take.
inline constexpr const char* store_size = R"(
SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint
FROM pg_class AS c
WHERE c.relnamespace = 'streamld'::regnamespace AND c.relkind = 'r')";

} // namespace streamld::store::postgres::queries
