-- streamld's tables inside any SQLite database. Never edited after a release: add a file with the next number.

-- key 'schema_version': the newest of these files applied. key 'probe': written to see that writing works.
CREATE TABLE streamld_meta (
    key TEXT PRIMARY KEY NOT NULL,
    value
) WITHOUT ROWID;

-- head and horizon only rise. changed: a number that rises over all streams with every publishing transaction.
CREATE TABLE streamld_stream (
    id INTEGER PRIMARY KEY CHECK (id BETWEEN 1 AND 8388607),
    name TEXT NOT NULL UNIQUE COLLATE BINARY,
    epoch TEXT NOT NULL,
    head INTEGER NOT NULL DEFAULT 0 CHECK (head BETWEEN 0 AND 1099511627775),
    horizon INTEGER NOT NULL DEFAULT 0 CHECK (horizon BETWEEN 0 AND head),
    changed INTEGER NOT NULL DEFAULT 0,
    created_at INTEGER NOT NULL,
    last_event_at INTEGER
);

-- Serves the watcher: which streams changed since? And max(changed) when a publish takes the next number.
CREATE INDEX streamld_stream_changed ON streamld_stream (changed);

-- Serves the open: which trims may have rows left to delete?
CREATE INDEX streamld_stream_trimmed ON streamld_stream (id) WHERE horizon > 0;

-- id = stream id * 2^40 + offset: one clustered tree, integer compares, and every read is a range of it.
-- payload: TEXT for JSON, BLOB for anything else, byte for byte. content_type: NULL is application/json.
-- is_checked = 0: published by plain SQL; depth and UTF-8 of the payload were not looked at yet.
CREATE TABLE streamld_event (
    id INTEGER PRIMARY KEY,
    created_at INTEGER NOT NULL,
    is_snapshot INTEGER NOT NULL DEFAULT 0,
    is_checked INTEGER NOT NULL DEFAULT 1,
    content_type TEXT,
    key TEXT,
    payload NOT NULL
);

-- Serves reads of one key. The id follows the key inside the index, so key and range are one seek.
CREATE INDEX streamld_event_key ON streamld_event (key) WHERE key IS NOT NULL;

-- Serves the start from the newest snapshot.
CREATE INDEX streamld_event_snapshot ON streamld_event (is_snapshot) WHERE is_snapshot = 1;

CREATE TABLE streamld_consumer (
    stream INTEGER NOT NULL,
    name TEXT NOT NULL COLLATE BINARY,
    saved INTEGER NOT NULL,
    PRIMARY KEY (stream, name)
) WITHOUT ROWID;

CREATE TABLE streamld_idempotency (
    stream INTEGER NOT NULL,
    token TEXT NOT NULL COLLATE BINARY,
    fingerprint BLOB NOT NULL,
    first INTEGER NOT NULL,
    last INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (stream, token)
) WITHOUT ROWID;

-- Serves the removal of tokens whose events are trimmed.
CREATE INDEX streamld_idempotency_last ON streamld_idempotency (stream, last);

-- The positions a name can have: serves the check of names that are not plain ASCII.
CREATE VIEW streamld_position (n) AS
WITH RECURSIVE counter (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM counter WHERE n < 512)
SELECT n FROM counter;

-- Publishing by plain SQL, in any transaction of any SQLite client:
--   INSERT INTO streamld_publish (stream, payload) VALUES ('orders', '{"id":1}');
CREATE VIEW streamld_publish (stream, key, payload, content_type, is_snapshot) AS
SELECT s.name, e.key, e.payload, e.content_type, e.is_snapshot
FROM streamld_stream AS s
JOIN streamld_event AS e ON e.id > (s.id << 40) + s.horizon AND e.id <= (s.id << 40) + s.head;

-- RAISE(ABORT) and WHERE NOT EXISTS, since a client's own OR IGNORE or OR REPLACE reaches into the trigger.
-- A name or key is checked character by character only where it has one outside printable ASCII: its characters
-- must be the same when written again (else it was not UTF-8), and none may be a C1 control.
CREATE TRIGGER streamld_publish_insert INSTEAD OF INSERT ON streamld_publish
BEGIN
    SELECT RAISE(ABORT, 'streamld: the stream name must be a text of 1 to 512 bytes, not "." or ".."')
    WHERE typeof(NEW.stream) <> 'text'
        OR length(CAST(NEW.stream AS BLOB)) NOT BETWEEN 1 AND 512
        OR NEW.stream COLLATE BINARY IN ('.', '..');
    SELECT RAISE(ABORT, 'streamld: the stream name has a control character or is not UTF-8')
    WHERE instr(CAST(NEW.stream AS BLOB), x'00') > 0
        OR (NEW.stream GLOB '*[^ -~]*' AND EXISTS (
            SELECT 1
            FROM streamld_position
            WHERE n <= length(NEW.stream)
                AND (unicode(substr(NEW.stream, n, 1)) < 32
                    OR unicode(substr(NEW.stream, n, 1)) BETWEEN 127 AND 159
                    OR (CAST(char(unicode(substr(NEW.stream, n, 1))) AS BLOB)
                            <> CAST(substr(NEW.stream, n, 1) AS BLOB)
                        AND CAST(substr(NEW.stream, n, 1) AS BLOB) NOT IN (x'EFBFBE', x'EFBFBF')))));
    SELECT RAISE(ABORT, 'streamld: the key must be NULL or a text of 1 to 512 bytes')
    WHERE NEW.key IS NOT NULL
        AND (typeof(NEW.key) <> 'text' OR length(CAST(NEW.key AS BLOB)) NOT BETWEEN 1 AND 512);
    SELECT RAISE(ABORT, 'streamld: the key has a control character or is not UTF-8')
    WHERE NEW.key IS NOT NULL
        AND (instr(CAST(NEW.key AS BLOB), x'00') > 0
            OR (NEW.key GLOB '*[^ -~]*' AND EXISTS (
                SELECT 1
                FROM streamld_position
                WHERE n <= length(NEW.key)
                    AND (unicode(substr(NEW.key, n, 1)) < 32
                        OR unicode(substr(NEW.key, n, 1)) BETWEEN 127 AND 159
                        OR (CAST(char(unicode(substr(NEW.key, n, 1))) AS BLOB)
                                <> CAST(substr(NEW.key, n, 1) AS BLOB)
                            AND CAST(substr(NEW.key, n, 1) AS BLOB) NOT IN (x'EFBFBE', x'EFBFBF'))))));
    SELECT RAISE(ABORT, 'streamld: the payload must be a text or blob of 1 byte to 16 MiB')
    WHERE typeof(NEW.payload) NOT IN ('text', 'blob')
        OR length(CAST(NEW.payload AS BLOB)) NOT BETWEEN 1 AND 16777216;
    SELECT RAISE(ABORT, 'streamld: the content type must be NULL or a media type in lower case without parameters')
    WHERE NEW.content_type IS NOT NULL
        AND (typeof(NEW.content_type) <> 'text'
            OR length(CAST(NEW.content_type AS BLOB)) > 255
            OR NEW.content_type NOT GLOB '?*/?*'
            OR NEW.content_type GLOB '*/*/*'
            OR NEW.content_type GLOB '*[^-a-z0-9!#$&^_.+/]*'
            OR instr(CAST(NEW.content_type AS BLOB), x'00') > 0);
    SELECT RAISE(ABORT, 'streamld: the payload is not valid JSON')
    WHERE (NEW.content_type IS NULL OR NEW.content_type = 'application/json' OR NEW.content_type GLOB '*+json')
        AND (instr(CAST(NEW.payload AS BLOB), x'00') > 0 OR NOT json_valid(CAST(NEW.payload AS TEXT)));
    SELECT RAISE(ABORT, 'streamld: the payload must be a JSON object')
    WHERE NEW.content_type = 'application/ld+json'
        AND json_type(CAST(NEW.payload AS TEXT)) <> 'object';
    SELECT RAISE(ABORT, 'streamld: is_snapshot must be 0, 1 or NULL')
    WHERE NEW.is_snapshot IS NOT NULL AND NEW.is_snapshot NOT IN (0, 1);
    SELECT RAISE(ABORT, 'streamld: there are too many streams')
    WHERE (SELECT max(id) FROM streamld_stream) >= 8388607
        AND NOT EXISTS (SELECT 1 FROM streamld_stream WHERE name = NEW.stream);
    SELECT RAISE(ABORT, 'streamld: the stream is full')
    WHERE EXISTS (SELECT 1 FROM streamld_stream WHERE name = NEW.stream AND head >= 1099511627775);

    INSERT INTO streamld_stream (name, epoch, created_at)
    SELECT NEW.stream, lower(hex(randomblob(8))), CAST(strftime('%s', 'now') AS INTEGER)
    WHERE NOT EXISTS (SELECT 1 FROM streamld_stream WHERE name = NEW.stream);

    UPDATE streamld_stream
    SET head = head + 1,
        changed = 1 + (SELECT max(changed) FROM streamld_stream),
        last_event_at = CAST(strftime('%s', 'now') AS INTEGER)
    WHERE name = NEW.stream;

    INSERT INTO streamld_event (id, created_at, is_snapshot, is_checked, content_type, key, payload)
    SELECT
        (id << 40) + head,
        last_event_at,
        coalesce(NEW.is_snapshot, 0),
        0,
        nullif(NEW.content_type, 'application/json'),
        NEW.key,
        CASE
            WHEN NEW.content_type IS NULL OR NEW.content_type = 'application/json' OR NEW.content_type GLOB '*+json'
                THEN CAST(NEW.payload AS TEXT)
            ELSE CAST(NEW.payload AS BLOB)
        END
    FROM streamld_stream
    WHERE name = NEW.stream;
END;
