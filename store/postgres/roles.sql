-- Roles with the least that each needs. Run by whoever owns the schema and may create roles; may be run again. They
-- cannot log in themselves: GRANT streamld_publisher TO my_application;
-- Roles belong to the whole server, their rights to this database.

DO $$
DECLARE
    wanted text;
BEGIN
    FOREACH wanted IN ARRAY ARRAY['streamld_publisher', 'streamld_reader', 'streamld_gateway'] LOOP
        BEGIN
            EXECUTE format('CREATE ROLE %I NOLOGIN', wanted);
        EXCEPTION
            -- It is there, or somebody else has just made it for another database.
            WHEN duplicate_object OR unique_violation THEN
                NULL;
        END;
    END LOOP;
END
$$;

GRANT USAGE ON SCHEMA streamld TO streamld_publisher, streamld_reader, streamld_gateway;

-- Publishes in its own transactions; reads nothing.
GRANT EXECUTE ON FUNCTION
    streamld.publish(text, text, text, text, boolean),
    streamld.publish(text, json, text, text, boolean),
    streamld.publish(text, jsonb, text, text, boolean),
    streamld.publish(text, bytea, text, text, boolean)
TO streamld_publisher, streamld_gateway;

-- Reads events, and which streams and consumers there are; changes nothing. Who consumes by plain SQL also needs
--   GRANT EXECUTE ON FUNCTION streamld.save_offset(text, text, bigint) TO ...;
-- which is no part of this role, since it may move anybody's saved offset.
GRANT SELECT ON streamld.events, streamld.stream, streamld.consumer TO streamld_reader, streamld_gateway;
GRANT EXECUTE ON FUNCTION streamld.text_of(bytea) TO streamld_reader, streamld_gateway;

-- What `streamld serve` does. It changes no table's shape: a new version's schema is brought by the owner.
GRANT SELECT, INSERT, UPDATE ON streamld.meta, streamld.stream TO streamld_gateway;
GRANT SELECT, INSERT, DELETE ON streamld.event, streamld.idempotency TO streamld_gateway;
GRANT SELECT, INSERT, UPDATE, DELETE ON streamld.consumer TO streamld_gateway;
GRANT EXECUTE ON FUNCTION
    streamld.gateway_append(
        text[], int[], bigint[], text[], bytea[], int[], int[], text[], boolean[], text[], bytea[], int
    ),
    streamld.gateway_create(text),
    streamld.gateway_save_offset(text, text, bigint),
    streamld.gateway_trim(text, bigint, boolean, boolean, int),
    streamld.save_offset(text, text, bigint)
TO streamld_gateway;
