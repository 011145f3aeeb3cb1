// The schema in the database: who brings it there, which databases are fit, what each role may do.

#include "store/open_store.hpp"
#include "support/plain_postgres.hpp"
#include "support/postgres_server.hpp"
#include "support/store_fixture.hpp"

#include <boost/test/unit_test.hpp>

#include <thread>

using streamld::store::errc;
using streamld::store::schema_part;
using streamld::store::schema_text;
using streamld::tests::fails_with;
using streamld::tests::plain_postgres;
using streamld::tests::sql_failure;
using streamld::tests::store_fixture;
using streamld::tests::test_database;

namespace {

// Everything that the schema's files make, as text.
constexpr const char* everything = R"(
SELECT string_agg(x, E'\n' ORDER BY x)
FROM (
    SELECT concat(pg_get_functiondef(oid), proacl) AS x
    FROM pg_proc
    WHERE pronamespace = 'streamld'::regnamespace
    UNION ALL
    SELECT concat(relname, relkind, reloptions, relacl)
    FROM pg_class
    WHERE relnamespace = 'streamld'::regnamespace
    UNION ALL
    SELECT concat(c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attcollation)
    FROM pg_class AS c
    JOIN pg_attribute AS a ON a.attrelid = c.oid
    WHERE c.relnamespace = 'streamld'::regnamespace
    UNION ALL
    SELECT concat(conrelid::regclass, pg_get_constraintdef(oid))
    FROM pg_constraint
    WHERE connamespace = 'streamld'::regnamespace
    UNION ALL
    SELECT indexdef
    FROM pg_indexes
    WHERE schemaname = 'streamld'
    UNION ALL
    SELECT pg_get_viewdef('streamld.events'::regclass)
    UNION ALL
    SELECT concat(key, value)
    FROM streamld.meta
    WHERE key = 'schema_version'
) AS parts)";

struct fresh_database {
    test_database database;
    plain_postgres owner{database.url()};

    // As this role, whose own login the tests' server need not know.
    [[nodiscard]] std::string url_as(const std::string& role) const {
        const std::string url = database.url();
        const char* separator = url.find('?') == std::string::npos ? "?" : "&";
        return url + separator + "options=-crole%3D" + role;
    }

    void make_roles() { owner.run(schema_text("postgres", schema_part::tables_and_roles)); }
};

streamld::store::open_options without_patience() {
    streamld::store::open_options options;
    options.postgres.start_patience = std::chrono::milliseconds(300);
    return options;
}

bool opens_with(errc code, const std::string& url, const std::string& words) {
    try {
        store_fixture opened(url, without_patience());
    } catch (const streamld::store::error& fault) {
        BOOST_TEST_MESSAGE(fault.detail());
        return fault.which() == code && fault.detail().find(words) != std::string::npos;
    }
    return false;
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(contract_postgres_schema, fresh_database)

BOOST_AUTO_TEST_CASE(gateways_that_start_at_once_bring_the_schema_once) {
    constexpr std::size_t gateways = 8;
    std::vector<std::thread> threads;
    std::vector<std::string> faults(gateways);
    for (auto& fault : faults)
        threads.emplace_back([&] {
            try {
                const store_fixture opened(database.url(), without_patience());
            } catch (const streamld::store::error& thrown) {
                fault = thrown.detail();
            }
        });
    for (auto& thread : threads)
        thread.join();

    for (const auto& fault : faults)
        BOOST_TEST(fault.empty(), fault);
    BOOST_TEST(owner.value("SELECT value FROM streamld.meta WHERE key = 'schema_version'") == "1");
}

BOOST_AUTO_TEST_CASE(script_leaves_what_the_gateway_leaves) {
    const test_database other;
    plain_postgres by_script{other.url()};
    by_script.run(schema_text("postgres"));
    { store_fixture opened(database.url()); }

    BOOST_TEST(by_script.value(everything) == owner.value(everything));
    const store_fixture opened(other.url());
}

BOOST_AUTO_TEST_CASE(script_can_be_run_once_and_spoils_nothing) {
    make_roles();
    const std::string before = owner.value(everything);

    plain_postgres again{database.url()};
    BOOST_CHECK_THROW(
        again.run(schema_text("postgres", schema_part::tables_and_roles)), sql_failure
    );
    again.run("ROLLBACK");
    BOOST_TEST(owner.value(everything) == before);
}

BOOST_AUTO_TEST_CASE(newer_schema_and_a_strangers_are_refused) {
    owner.run("CREATE SCHEMA streamld; CREATE TABLE streamld.meta (x integer)");
    BOOST_TEST(opens_with(errc::foreign, database.url(), "not ours"));

    owner.run("DROP SCHEMA streamld CASCADE");
    make_roles();
    owner.run("UPDATE streamld.meta SET value = '2' WHERE key = 'schema_version'");
    BOOST_TEST(opens_with(errc::foreign, database.url(), "newer streamld"));
}

BOOST_AUTO_TEST_CASE(other_encodings_are_refused) {
    plain_postgres administrator{streamld::tests::postgres_server_url()};
    const std::string name = database.name() + "_latin1";
    administrator.run(
        "CREATE DATABASE " + name +
        " ENCODING 'LATIN1' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'"
    );

    const std::string url =
        streamld::tests::with_database(streamld::tests::postgres_server_url(), name);
    BOOST_TEST(opens_with(errc::foreign, url, "UTF8"));
    administrator.run("DROP DATABASE " + name);
}

BOOST_AUTO_TEST_CASE(schema_that_cannot_be_brought_says_who_can) {
    const test_database with_roles; // Roles are of the whole server.
    plain_postgres(with_roles.url()).run(schema_text("postgres", schema_part::tables_and_roles));
    BOOST_TEST(opens_with(
        errc::foreign, url_as("streamld_gateway"), "streamld_gateway may not create it; let"
    ));

    owner.run("ALTER DATABASE " + database.name() + " SET default_transaction_read_only = on");
    BOOST_TEST(opens_with(errc::unavailable, database.url(), "streamld sql --engine"));
}

BOOST_AUTO_TEST_CASE(gateway_role_is_enough_to_serve) {
    make_roles();
    store_fixture store(url_as("streamld_gateway"));
    auto publish = streamld::tests::one_event("a", "1");
    publish.idempotency_key = "t";
    store.append(publish);
    store.publish("a", "2");
    store.save_offset("a", "c", 2);
    BOOST_TEST(store.read_all("a").events.size() == 2U);
    store.trim("a", 1);
    store.loop.await(store.engine().probe(streamld::tests::in_time()));
    auto work = [](streamld::store::tx_handle& tx) -> boost::asio::awaitable<void> {
        co_await tx.publish_tx("b", "1");
    };
    store.transact(work);

    BOOST_TEST(store.info("b")->bounds.head == 1);
    plain_postgres as_gateway{url_as("streamld_gateway")};
    BOOST_CHECK_THROW(as_gateway.run("CREATE TABLE streamld.more (x integer)"), sql_failure);
    BOOST_CHECK_THROW(as_gateway.run("UPDATE streamld.event SET payload = '2'"), sql_failure);
    BOOST_CHECK_THROW(as_gateway.run("TRUNCATE streamld.event"), sql_failure);
}

BOOST_AUTO_TEST_CASE(publisher_publishes_and_reads_nothing) {
    make_roles();
    plain_postgres publisher{url_as("streamld_publisher")};
    publisher.run("BEGIN; SELECT streamld.publish('a', '1'), streamld.publish('a', '[]'::jsonb); "
                  "COMMIT");

    for (const char* refused :
         {"SELECT sequence FROM streamld.events",
          "SELECT sequence FROM streamld.event",
          "SELECT name FROM streamld.stream",
          "SELECT streamld.save_offset('a', 'c', 1)",
          "SELECT streamld.publish_event('a', '1', '1', true, NULL, NULL, false)",
          "SELECT streamld.gateway_create('b')",
          "INSERT INTO streamld.stream (name) VALUES ('b')",
          "DELETE FROM streamld.event"})
        BOOST_CHECK_EXCEPTION(publisher.run(refused), sql_failure, [](const sql_failure& fault) {
            return fault.sqlstate() == "42501";
        });
    BOOST_TEST(owner.value("SELECT head FROM streamld.stream") == "2");
}

BOOST_AUTO_TEST_CASE(reader_reads_and_changes_nothing) {
    make_roles();
    owner.run("SELECT streamld.publish('a', 'x', content_type => 'text/plain')");
    plain_postgres reader{url_as("streamld_reader")};

    BOOST_TEST(reader.value("SELECT payload_text FROM streamld.events") == "x");
    BOOST_TEST(reader.value("SELECT name FROM streamld.stream") == "a");
    BOOST_TEST(reader.value("SELECT count(*) FROM streamld.consumer") == "0");
    for (const char* refused :
         {"SELECT streamld.publish('a', '1')",
          "SELECT streamld.save_offset('a', 'c', 1)",
          "SELECT sequence FROM streamld.event",
          "UPDATE streamld.stream SET horizon = 1"})
        BOOST_CHECK_EXCEPTION(reader.run(refused), sql_failure, [](const sql_failure& fault) {
            return fault.sqlstate() == "42501";
        });
}

BOOST_AUTO_TEST_CASE(strangers_may_do_nothing) {
    make_roles();
    plain_postgres stranger{url_as("pg_monitor")};

    for (const char* refused : {"SELECT streamld.publish('a', '1')", "SELECT 1 FROM streamld.meta"})
        BOOST_CHECK_THROW(stranger.run(refused), sql_failure);
}

BOOST_AUTO_TEST_SUITE_END()
