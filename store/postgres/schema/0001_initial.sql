-- streamld's schema inside any Postgres database (13 or later, encoding UTF8). Never edited after a release: add a
-- file with the next number. Runs inside one transaction.

-- Asked first, since IF NOT EXISTS wants the right to create even where there is nothing to create.
DO $$
BEGIN
    IF to_regnamespace('streamld') IS NULL THEN
        CREATE SCHEMA streamld;
    END IF;
END
$$;

-- key 'schema_version': the newest of these files applied. key 'probe': written to see that writing works.
CREATE TABLE streamld.meta (
    key text PRIMARY KEY,
    value text
);

-- head and horizon only rise. A publisher holds its stream's row from numbering to commit: hence the order of offsets
-- is the order of commits. changed: the transaction of the newest publish; 0 while there was none.
-- Every publish writes its row anew, so pages keep room for that, and vacuum comes early and does not dawdle.
CREATE TABLE streamld.stream (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text COLLATE "C" NOT NULL UNIQUE,
    epoch text NOT NULL DEFAULT left(replace(gen_random_uuid()::text, '-', ''), 16),
    head bigint NOT NULL DEFAULT 0 CHECK (head BETWEEN 0 AND 9007199254740991),
    horizon bigint NOT NULL DEFAULT 0 CHECK (horizon BETWEEN 0 AND head),
    changed xid8 NOT NULL DEFAULT '0',
    created_at bigint NOT NULL DEFAULT floor(extract(epoch FROM clock_timestamp())),
    last_event_at bigint
)
WITH (
    fillfactor = 50,
    autovacuum_vacuum_threshold = 500,
    autovacuum_vacuum_scale_factor = 0.05,
    autovacuum_vacuum_cost_delay = 0,
    autovacuum_analyze_threshold = 1000
);

-- Serves the watcher: which streams have changed since the oldest transaction that ran at its last look?
CREATE INDEX stream_changed ON streamld.stream (changed);

-- payload: the publisher's bytes, whatever their type. content_type: NULL is application/json.
-- is_checked = false: published by plain SQL; depth of the payload was not looked at yet.
-- Rows are written once and later deleted from the low end: the vacuum that follows inserts freezes them at once, so
-- that no great vacuum has to come back for them.
CREATE TABLE streamld.event (
    stream_id bigint NOT NULL,
    sequence bigint NOT NULL,
    created_at bigint NOT NULL,
    is_snapshot boolean NOT NULL DEFAULT false,
    is_checked boolean NOT NULL DEFAULT true,
    content_type text,
    key text COLLATE "C",
    payload bytea NOT NULL,
    PRIMARY KEY (stream_id, sequence)
)
WITH (
    autovacuum_vacuum_insert_threshold = 100000,
    autovacuum_vacuum_insert_scale_factor = 0.1,
    autovacuum_vacuum_scale_factor = 0.05,
    autovacuum_freeze_min_age = 0
);

-- Payloads beyond 2 kB are compressed with lz4 where the server (14 or later) was built with it: JSON of 3.5 kB took
-- 12 us to store, against 42 us with the default pglz and 17 us uncompressed, and half the space of the latter.
DO $$
BEGIN
    IF current_setting('server_version_num')::int >= 140000 THEN
        EXECUTE 'ALTER TABLE streamld.event ALTER COLUMN payload SET COMPRESSION lz4';
    END IF;
EXCEPTION
    WHEN feature_not_supported OR invalid_parameter_value THEN
        NULL;
END
$$;

-- Serves reads of one key.
CREATE INDEX event_key ON streamld.event (stream_id, key, sequence) WHERE key IS NOT NULL;

-- Serves the start from the newest snapshot.
CREATE INDEX event_snapshot ON streamld.event (stream_id, sequence) WHERE is_snapshot;

CREATE TABLE streamld.consumer (
    stream_id bigint NOT NULL,
    name text COLLATE "C" NOT NULL,
    saved bigint NOT NULL,
    PRIMARY KEY (stream_id, name)
);

CREATE TABLE streamld.idempotency (
    stream_id bigint NOT NULL,
    token text COLLATE "C" NOT NULL,
    fingerprint bytea NOT NULL,
    first bigint NOT NULL,
    last bigint NOT NULL,
    created_at bigint NOT NULL,
    PRIMARY KEY (stream_id, token)
);

-- Serves the removal of tokens whose events are trimmed.
CREATE INDEX idempotency_last ON streamld.idempotency (stream_id, last);

-- ---------------------------------------------------------------- reading by plain SQL

-- The payload as text, or NULL where it is none. Only payloads that are not JSON pay for the look.
CREATE FUNCTION streamld.text_of(payload bytea)
RETURNS text
LANGUAGE plpgsql STABLE
AS $$
BEGIN
    RETURN convert_from(payload, 'UTF8');
EXCEPTION
    WHEN character_not_in_repertoire OR untranslatable_character THEN
        RETURN NULL;
END
$$;

-- What readers may see: neither what is trimmed, nor rows that a trim has still to delete.
-- payload_text: JSON and text/*; NULL for other types, and for a text/* that is not UTF-8 or has a NUL byte.
CREATE VIEW streamld.events (
    stream, sequence, key, payload, payload_text, content_type, is_snapshot, created_at
) AS
SELECT
    s.name,
    e.sequence,
    e.key,
    e.payload,
    CASE
        WHEN e.content_type IS NULL OR e.content_type LIKE '%+json'
            THEN convert_from(e.payload, 'UTF8')
        WHEN e.content_type LIKE 'text/%'
            THEN streamld.text_of(e.payload)
    END,
    coalesce(e.content_type, 'application/json'),
    e.is_snapshot,
    e.created_at
FROM streamld.stream AS s
JOIN streamld.event AS e
    ON e.stream_id = s.id AND e.sequence > s.horizon AND e.sequence <= s.head;

-- ---------------------------------------------------------------- the gateway's statements

-- Whoever creates a stream holds its bucket's lock, shared, to the end of the transaction. So the gateway can find out
-- without waiting whether somebody may be creating the same stream just now. Buckets, since a transaction that creates
-- 100,000 streams would fill the lock table otherwise. 1400130628 is "StLD".

-- A group of publishes in one round trip. One row for each publish, in the order of p_streams; its events are those
-- with its index in p_event_publish. p_expected: only at the first publish of a stream in the group.
-- verdict: 0 stored, 1 replayed (first, last, created_at are the token's), 2 the token was used for another publish,
-- 3 the head is not the expected one, 4 held by another transaction, 5 no numbers left. What is refused leaves nothing.
-- p_wait_ms = 0 never waits for anybody. The plans are made for indexes and loops once and for all: a plan made while
-- the tables were small would stay in the session while they grow.
CREATE FUNCTION streamld.gateway_append(
    p_streams text[],
    p_counts int[],
    p_expected bigint[],
    p_tokens text[],
    p_fingerprints bytea[],
    p_event_publish int[],
    p_event_nr int[],
    p_keys text[],
    p_snapshots boolean[],
    p_content_types text[],
    p_payloads bytea[],
    p_wait_ms int
)
RETURNS TABLE (verdict int, first bigint, last bigint, created_at bigint, head bigint, epoch text)
LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
AS $$
#variable_conflict use_column
DECLARE
    now_seconds bigint;
    -- One element for each publish. None is NULL, so that the arrays of numbers are read in constant time.
    ids bigint[];
    heads bigint[];
    epochs text[];
    verdicts int[];
    firsts bigint[];
    lasts bigint[];
    times bigint[];
    is_complete boolean;
BEGIN
    IF p_wait_ms > 0 THEN
        PERFORM set_config('lock_timeout', p_wait_ms::text, true);
    END IF;

    -- Lock what exists; where something is missing, create what may be created, and lock again.
    FOR pass IN 1..2 LOOP
        IF p_wait_ms > 0 THEN
            -- Everybody who waits for several streams does so in the order of their names.
            SELECT array_agg(l.id ORDER BY l.nr), array_agg(l.head ORDER BY l.nr),
                array_agg(l.epoch ORDER BY l.nr), bool_and(l.id > 0)
            INTO ids, heads, epochs, is_complete
            FROM (
                SELECT u.nr, coalesce(s.id, 0) AS id, coalesce(s.head, 0) AS head, coalesce(s.epoch, '') AS epoch
                FROM (
                    SELECT p.name, p.nr
                    FROM unnest(p_streams) WITH ORDINALITY AS p (name, nr)
                    ORDER BY p.name COLLATE "C"
                ) AS u
                LEFT JOIN LATERAL (
                    SELECT t.id, t.head, t.epoch
                    FROM streamld.stream AS t
                    WHERE t.name = u.name
                    FOR NO KEY UPDATE
                ) AS s ON true
            ) AS l;
        ELSE
            SELECT array_agg(coalesce(s.id, 0)), array_agg(coalesce(s.head, 0)),
                array_agg(coalesce(s.epoch, '')), bool_and(s.id IS NOT NULL)
            INTO ids, heads, epochs, is_complete
            FROM unnest(p_streams) AS u (name)
            LEFT JOIN LATERAL (
                SELECT t.id, t.head, t.epoch
                FROM streamld.stream AS t
                WHERE t.name = u.name
                FOR NO KEY UPDATE SKIP LOCKED
            ) AS s ON true;
        END IF;

        EXIT WHEN is_complete OR pass = 2;

        -- A publish that expects another head than 0 does not create its stream.
        INSERT INTO streamld.stream (name)
        SELECT m.name
        FROM (
            SELECT DISTINCT u.name
            FROM unnest(p_streams, p_expected, ids) AS u (name, expected, id)
            WHERE u.id = 0 AND coalesce(u.expected, 0) = 0
            ORDER BY u.name
        ) AS m
        WHERE CASE
            WHEN EXISTS (SELECT 1 FROM streamld.stream AS t WHERE t.name = m.name)
                THEN false
            WHEN p_wait_ms > 0
                THEN pg_advisory_xact_lock_shared(1400130628, hashtext(m.name COLLATE "C") & 1023) IS NOT NULL
            ELSE pg_try_advisory_xact_lock(1400130628, hashtext(m.name COLLATE "C") & 1023)
        END
        ON CONFLICT (name) DO NOTHING;
        EXIT WHEN NOT FOUND AND p_wait_ms = 0;
    END LOOP;

    -- The streams are ours from here on. A new statement sees every token that was committed before that, and the
    -- clock is not behind that of the events before.
    now_seconds := floor(extract(epoch FROM clock_timestamp()));
    SELECT array_agg(v.verdict), array_agg(v.first), array_agg(v.last), array_agg(v.created_at), array_agg(v.head)
    INTO verdicts, firsts, lasts, times, heads
    FROM (
        SELECT
            f.verdict,
            CASE f.verdict WHEN 0 THEN f.head + f.taken - f.count + 1 WHEN 1 THEN f.first ELSE 0 END AS first,
            CASE f.verdict WHEN 0 THEN f.head + f.taken WHEN 1 THEN f.last ELSE 0 END AS last,
            CASE f.verdict WHEN 0 THEN now_seconds WHEN 1 THEN f.created_at ELSE 0 END AS created_at,
            CASE f.verdict WHEN 0 THEN f.head + f.taken ELSE f.head END AS head
        FROM (
            SELECT
                n.nr, n.count, n.head, n.taken, n.first, n.last, n.created_at,
                CASE WHEN n.verdict = 0 AND n.head + n.taken > 9007199254740991 THEN 5 ELSE n.verdict END AS verdict
            FROM (
                SELECT
                    c.nr, c.count, c.head, c.first, c.last, c.created_at, c.verdict,
                    sum(c.count) FILTER (WHERE c.verdict = 0) OVER (PARTITION BY c.id ORDER BY c.nr) AS taken
                FROM (
                    SELECT
                        u.nr, u.id, u.count, u.head, i.first, i.last, i.created_at,
                        CASE
                            WHEN u.id = 0 AND (coalesce(u.expected, 0) = 0
                                    OR EXISTS (SELECT 1 FROM streamld.stream AS t WHERE t.name = u.name))
                                THEN 4
                            WHEN i.fingerprint = u.fingerprint
                                THEN 1
                            WHEN i.fingerprint IS NOT NULL
                                THEN 2
                            WHEN u.expected <> u.head
                                THEN 3
                            ELSE 0
                        END AS verdict
                    FROM unnest(p_streams, p_counts, p_expected, p_tokens, p_fingerprints, ids, heads)
                        WITH ORDINALITY AS u (name, count, expected, token, fingerprint, id, head, nr)
                    LEFT JOIN LATERAL (
                        SELECT t.fingerprint, t.first, t.last, t.created_at
                        FROM streamld.idempotency AS t
                        WHERE u.token IS NOT NULL AND t.stream_id = u.id AND t.token = u.token
                        LIMIT 1
                    ) AS i ON true
                ) AS c
            ) AS n
        ) AS f
        ORDER BY f.nr
    ) AS v;

    IF 0 = ANY (verdicts) THEN
        -- Unnested in the list of columns: in FROM, the payloads would be copied to a file first.
        INSERT INTO streamld.event (stream_id, sequence, created_at, is_snapshot, content_type, key, payload)
        SELECT
            ids[u.publish],
            firsts[u.publish] + u.nr - 1,
            now_seconds,
            u.is_snapshot,
            nullif(u.content_type, 'application/json'),
            u.key,
            u.payload
        FROM (
            SELECT
                unnest(p_event_publish) AS publish,
                unnest(p_event_nr) AS nr,
                unnest(p_snapshots) AS is_snapshot,
                unnest(p_content_types) AS content_type,
                unnest(p_keys) AS key,
                unnest(p_payloads) AS payload
        ) AS u
        WHERE verdicts[u.publish] = 0;

        UPDATE streamld.stream AS s
        SET head = u.head, last_event_at = now_seconds, changed = pg_current_xact_id()
        FROM (
            SELECT p.id, max(p.last) AS head
            FROM unnest(ids, lasts, verdicts) AS p (id, last, verdict)
            WHERE p.verdict = 0
            GROUP BY p.id
        ) AS u
        WHERE s.id = u.id;

        IF cardinality(array_remove(p_tokens, NULL)) > 0 THEN
            INSERT INTO streamld.idempotency (stream_id, token, fingerprint, first, last, created_at)
            SELECT u.id, u.token, u.fingerprint, u.first, u.last, now_seconds
            FROM unnest(p_tokens, p_fingerprints, ids, firsts, lasts, verdicts)
                AS u (token, fingerprint, id, first, last, verdict)
            WHERE u.verdict = 0 AND u.token IS NOT NULL;
        END IF;
    END IF;

    RETURN QUERY
    SELECT u.verdict, u.first, u.last, u.created_at, u.head, u.epoch
    FROM unnest(verdicts, firsts, lasts, times, heads, epochs)
        AS u (verdict, first, last, created_at, head, epoch);
END
$$;

-- An empty stream is no event: changed stays 0, and nobody is woken.
CREATE FUNCTION streamld.gateway_create(p_stream text)
RETURNS TABLE (
    is_new boolean, epoch text, head bigint, horizon bigint, created_at bigint, last_event_at bigint
)
LANGUAGE plpgsql
AS $$
#variable_conflict use_column
BEGIN
    is_new := false;
    IF NOT EXISTS (SELECT 1 FROM streamld.stream AS s WHERE s.name = p_stream) THEN
        PERFORM pg_advisory_xact_lock_shared(1400130628, hashtext(p_stream COLLATE "C") & 1023);
        INSERT INTO streamld.stream (name)
        VALUES (p_stream)
        ON CONFLICT (name) DO NOTHING;
        is_new := FOUND;
    END IF;
    RETURN QUERY
    SELECT gateway_create.is_new, s.epoch, s.head, s.horizon, s.created_at, s.last_event_at
    FROM streamld.stream AS s
    WHERE s.name = p_stream;
END
$$;

-- verdict: 0 saved (or already further on), 1 there is no such stream, 2 beyond the head.
-- A consumer that saves 0 is on record, so a guarded trim waits for it.
CREATE FUNCTION streamld.gateway_save_offset(p_stream text, p_consumer text, p_offset bigint)
RETURNS TABLE (verdict int, saved bigint, advanced boolean, head bigint)
LANGUAGE plpgsql
AS $$
#variable_conflict use_column
DECLARE
    id_found bigint;
BEGIN
    verdict := 0;
    saved := 0;
    advanced := false;
    SELECT s.id, s.head
    INTO id_found, head
    FROM streamld.stream AS s
    WHERE s.name = p_stream;

    IF id_found IS NULL THEN
        verdict := 1;
        head := 0;
    ELSIF p_offset > head THEN
        verdict := 2;
    ELSE
        -- Waits for whoever is saving the same consumer's offset, and then compares with what was saved.
        INSERT INTO streamld.consumer AS c (stream_id, name, saved)
        VALUES (id_found, p_consumer, p_offset)
        ON CONFLICT (stream_id, name) DO UPDATE
        SET saved = excluded.saved
        WHERE c.saved < excluded.saved;
        advanced := FOUND AND p_offset > 0;
        SELECT c.saved
        INTO saved
        FROM streamld.consumer AS c
        WHERE c.stream_id = id_found AND c.name = p_consumer;
        saved := coalesce(saved, p_offset);
    END IF;
    RETURN NEXT;
END
$$;

-- verdict: 0 trimmed, 1 there is no such stream, 2 a saved offset is below the new horizon (guard, not dry run).
-- Hides events by moving the horizon; their rows are deleted later, in pieces. changed stays: a trim wakes nobody.
CREATE FUNCTION streamld.gateway_trim(
    p_stream text,
    p_through bigint,
    p_dry_run boolean,
    p_guard boolean,
    p_wait_ms int
)
RETURNS TABLE (
    verdict int,
    removed bigint,
    stream_id bigint,
    epoch text,
    head bigint,
    horizon bigint,
    created_at bigint,
    last_event_at bigint
)
LANGUAGE plpgsql
AS $$
#variable_conflict use_column
DECLARE
    horizon_before bigint;
BEGIN
    verdict := 0;
    removed := 0;
    IF NOT p_dry_run THEN
        PERFORM set_config('lock_timeout', greatest(p_wait_ms, 1)::text, true);
        PERFORM 1
        FROM streamld.stream AS s
        WHERE s.name = p_stream
        FOR NO KEY UPDATE;
    END IF;

    SELECT s.id, s.epoch, s.head, s.horizon, s.created_at, s.last_event_at
    INTO stream_id, epoch, head, horizon_before, created_at, last_event_at
    FROM streamld.stream AS s
    WHERE s.name = p_stream;

    IF stream_id IS NULL THEN
        verdict := 1;
        RETURN NEXT;
        RETURN;
    END IF;

    horizon := greatest(horizon_before, least(p_through, head));
    removed := horizon - horizon_before;
    IF p_guard AND NOT p_dry_run AND EXISTS (
        SELECT 1
        FROM streamld.consumer AS c
        WHERE c.stream_id = gateway_trim.stream_id AND c.saved < gateway_trim.horizon
    ) THEN
        verdict := 2;
        removed := 0;
        horizon := horizon_before;
    ELSIF removed > 0 AND NOT p_dry_run THEN
        UPDATE streamld.stream AS s
        SET horizon = gateway_trim.horizon
        WHERE s.id = gateway_trim.stream_id;
    END IF;
    RETURN NEXT;
END
$$;

-- ---------------------------------------------------------------- publishing by plain SQL

-- The rules of names and keys, at their places.
CREATE FUNCTION streamld.check_name(what text, name text)
RETURNS void
LANGUAGE plpgsql IMMUTABLE
AS $$
BEGIN
    IF name IS NULL OR octet_length(name) NOT BETWEEN 1 AND 512 THEN
        RAISE EXCEPTION 'streamld: the % must be a text of 1 to 512 bytes', what
            USING ERRCODE = 'invalid_parameter_value';
    ELSIF name COLLATE "C" ~ E'[\\u0001-\\u001f\\u007f-\\u009f]' THEN
        RAISE EXCEPTION 'streamld: the % has a control character', what
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
END
$$;

-- p_text: the payload as text where the publisher gave text. p_is_json: it is known to be valid JSON.
CREATE FUNCTION streamld.check_publish(
    p_stream text, p_bytes bytea, p_text text, p_is_json boolean, p_key text, p_content_type text
)
RETURNS void
LANGUAGE plpgsql STABLE
AS $$
DECLARE
    reason text;
BEGIN
    PERFORM streamld.check_name('stream name', p_stream);
    IF p_stream IN ('.', '..') THEN
        RAISE EXCEPTION 'streamld: the stream name must not be "." or ".."'
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF p_key IS NOT NULL THEN
        PERFORM streamld.check_name('key', p_key);
    END IF;
    IF p_bytes IS NULL OR octet_length(p_bytes) NOT BETWEEN 1 AND 16777216 THEN
        RAISE EXCEPTION 'streamld: the payload must have 1 byte to 16 MiB'
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF p_content_type IS NOT NULL AND (
        octet_length(p_content_type) > 255
        OR p_content_type COLLATE "C" !~ '^[-a-z0-9!#$&^_.+]+/[-a-z0-9!#$&^_.+]+$'
    ) THEN
        RAISE EXCEPTION 'streamld: the content type must be NULL or a media type in lower case without parameters'
            USING ERRCODE = 'invalid_parameter_value';
    END IF;

    IF p_content_type IS NULL OR p_content_type = 'application/json' OR p_content_type LIKE '%+json' THEN
        BEGIN
            IF p_text IS NULL THEN
                p_text := convert_from(p_bytes, 'UTF8');
            END IF;
            IF NOT p_is_json THEN
                PERFORM p_text::json;
            END IF;
        EXCEPTION
            WHEN data_exception OR statement_too_complex THEN
                GET STACKED DIAGNOSTICS reason = PG_EXCEPTION_DETAIL;
                RAISE EXCEPTION 'streamld: the payload is not valid JSON'
                    USING ERRCODE = 'invalid_parameter_value', DETAIL = coalesce(nullif(reason, ''), SQLERRM);
        END;
        IF p_content_type = 'application/ld+json' AND json_typeof(p_text::json) <> 'object' THEN
            RAISE EXCEPTION 'streamld: the payload must be a JSON object'
                USING ERRCODE = 'invalid_parameter_value';
        END IF;
    END IF;
END
$$;

-- A hint for the gateways: `<head> <stream>`, and `*` instead of more than 64 of them in a transaction. The count is a
-- setting of the transaction: it ends with it, and returns with a savepoint, as the notifications themselves do.
-- Commits that notify queue up for one lock of the whole server; SET streamld.notify = 'off' spares them that, and
-- gateways then find the events when they look next.
CREATE FUNCTION streamld.notify_gateways(p_stream text, p_head bigint)
RETURNS void
LANGUAGE plpgsql
AS $$
DECLARE
    earlier int;
BEGIN
    IF current_setting('streamld.notify', true) = 'off' THEN
        RETURN;
    END IF;
    earlier := coalesce(nullif(current_setting('streamld.notified', true), ''), '0');
    IF earlier < 64 THEN
        PERFORM pg_notify('streamld', p_head || ' ' || p_stream);
    ELSIF earlier = 64 THEN
        PERFORM pg_notify('streamld', '*');
    ELSE
        RETURN;
    END IF;
    PERFORM set_config('streamld.notified', (earlier + 1)::text, true);
END
$$;

-- The one implementation behind the overloads of publish().
CREATE FUNCTION streamld.publish_event(
    p_stream text,
    p_bytes bytea,
    p_text text,
    p_is_json boolean,
    p_key text,
    p_content_type text,
    p_is_snapshot boolean
)
RETURNS bigint
LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
AS $$
DECLARE
    now_seconds bigint;
    id_found bigint;
    head_new bigint;
BEGIN
    PERFORM streamld.check_publish(p_stream, p_bytes, p_text, p_is_json, p_key, p_content_type);

    -- The row stays locked until the transaction ends. Where the lock had to be waited for, the new values, the clock's
    -- too, are of the time when it was given.
    FOR pass IN 1..2 LOOP
        UPDATE streamld.stream
        SET
            head = head + 1,
            last_event_at = floor(extract(epoch FROM clock_timestamp())),
            changed = pg_current_xact_id()
        WHERE name = p_stream AND head < 9007199254740991
        RETURNING id, head, last_event_at
        INTO id_found, head_new, now_seconds;
        EXIT WHEN FOUND;
        IF pass = 2 THEN
            RAISE EXCEPTION 'streamld: the stream is full'
                USING ERRCODE = 'program_limit_exceeded';
        END IF;
        PERFORM pg_advisory_xact_lock_shared(1400130628, hashtext(p_stream COLLATE "C") & 1023);
        INSERT INTO streamld.stream (name)
        VALUES (p_stream)
        ON CONFLICT (name) DO NOTHING;
    END LOOP;

    INSERT INTO streamld.event (stream_id, sequence, created_at, is_snapshot, is_checked, content_type, key, payload)
    VALUES (
        id_found, head_new, now_seconds, coalesce(p_is_snapshot, false), false,
        nullif(p_content_type, 'application/json'), p_key, p_bytes
    );
    PERFORM streamld.notify_gateways(p_stream, head_new);
    RETURN head_new;
END
$$;

-- Publishing by plain SQL, in any transaction of any client:
--   SELECT streamld.publish('orders', '{"id":1}');
-- The event is there when the transaction commits, and only then. Until then the stream's other publishers wait, so
-- publish late in a transaction, and several streams always in the same order.
CREATE FUNCTION streamld.publish(
    stream text,
    payload text,
    key text DEFAULT NULL,
    content_type text DEFAULT NULL,
    is_snapshot boolean DEFAULT false
)
RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN streamld.publish_event(
        stream, convert_to(payload, 'UTF8'), payload, false, key, content_type, is_snapshot
    );
END
$$;

-- As row_to_json() and json_build_object() give it; the text is kept as it is.
CREATE FUNCTION streamld.publish(
    stream text,
    payload json,
    key text DEFAULT NULL,
    content_type text DEFAULT NULL,
    is_snapshot boolean DEFAULT false
)
RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN streamld.publish_event(
        stream, convert_to(payload::text, 'UTF8'), payload::text, true, key, content_type, is_snapshot
    );
END
$$;

-- The text is Postgres's own spelling of the value: order and doubles of members are gone before we see it.
CREATE FUNCTION streamld.publish(
    stream text,
    payload jsonb,
    key text DEFAULT NULL,
    content_type text DEFAULT NULL,
    is_snapshot boolean DEFAULT false
)
RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN streamld.publish_event(
        stream, convert_to(payload::text, 'UTF8'), payload::text, true, key, content_type, is_snapshot
    );
END
$$;

CREATE FUNCTION streamld.publish(
    stream text,
    payload bytea,
    key text DEFAULT NULL,
    content_type text DEFAULT NULL,
    is_snapshot boolean DEFAULT false
)
RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN streamld.publish_event(stream, payload, NULL, false, key, content_type, is_snapshot);
END
$$;

-- Saves how far a consumer has come, in the caller's transaction. Returns the stored offset, which never falls.
CREATE FUNCTION streamld.save_offset(stream text, consumer text, "offset" bigint)
RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    answer record;
BEGIN
    PERFORM streamld.check_name('consumer name', consumer);
    IF consumer IN ('.', '..') THEN
        RAISE EXCEPTION 'streamld: the consumer name must not be "." or ".."'
            USING ERRCODE = 'invalid_parameter_value';
    ELSIF "offset" IS NULL OR "offset" < 0 THEN
        RAISE EXCEPTION 'streamld: the offset must be a number from 0'
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    SELECT g.verdict, g.saved, g.head
    INTO answer
    FROM streamld.gateway_save_offset(stream, consumer, "offset") AS g;
    IF answer.verdict = 1 THEN
        RAISE EXCEPTION 'streamld: the stream does not exist'
            USING ERRCODE = 'no_data_found';
    ELSIF answer.verdict = 2 THEN
        RAISE EXCEPTION 'streamld: the offset is beyond the head of the stream, %', answer.head
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    RETURN answer.saved;
END
$$;

-- Nobody but the owner calls anything, unless it is granted (roles.sql).
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA streamld FROM PUBLIC;
