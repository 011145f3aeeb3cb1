// Publishing by plain SQL from any Postgres client, without streamld.

#include "support/plain_postgres.hpp"
#include "support/plain_sqlite.hpp"
#include "support/postgres_server.hpp"
#include "support/store_fixture.hpp"

#include <boost/test/unit_test.hpp>

#include <thread>

using boost::test_tools::per_element;
using streamld::store::offset_t;
using streamld::tests::plain_postgres;
using streamld::tests::quoted;
using streamld::tests::run_command;
using streamld::tests::sql_failure;
using offsets = std::vector<offset_t>;

namespace {

constexpr auto in_good_time = std::chrono::seconds(20);

struct shared_database {
    streamld::tests::test_database database;
    streamld::tests::store_fixture store{database.url()};
    plain_postgres client{database.url()};
};

std::string publish(const std::string& stream, const std::string& payload) {
    return "SELECT streamld.publish(" + stream + ", " + payload + ")";
}

bool is_ours(const sql_failure& fault) {
    return std::string_view(fault.what()).find("streamld: ") != std::string_view::npos;
}

// Events of 1 byte each, one for every stream, as the gateway publishes them when it does not wait.
std::string gateway_append(const std::string& streams) {
    return "SELECT string_agg(g.verdict::text, ',') FROM (SELECT " + streams +
           "::text[] AS names) AS s CROSS JOIN LATERAL (SELECT array_agg(1) AS ones, "
           "array_agg(n.i::int) AS numbers, array_agg(NULL::text) AS texts, array_agg(false) AS "
           "flags, array_agg('1'::bytea) AS bytes FROM unnest(s.names) WITH ORDINALITY AS n (x, "
           "i)) AS a CROSS JOIN LATERAL streamld.gateway_append(s.names, a.ones, "
           "array_fill(NULL::bigint, ARRAY[cardinality(a.ones)]), a.texts, "
           "array_fill(NULL::bytea, ARRAY[cardinality(a.ones)]), a.numbers, a.ones, a.texts, "
           "a.flags, a.texts, a.bytes, 0) AS g";
}

/// The next notification that is not a gateway's question to itself.
std::string next_hint(plain_postgres& listener) {
    for (;;) {
        const auto heard = listener.next_notification(in_good_time);
        if (!heard) return "nothing";
        if (!heard->payload.starts_with("? ")) return heard->payload;
    }
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(contract_postgres_plain_sql, shared_database)

BOOST_AUTO_TEST_CASE(plain_publish_is_an_event_like_any_other) {
    store.publish("a", "1");
    BOOST_TEST(client.value(publish("'a'", "'{\"n\":2}'")) == "2");
    store.publish("a", "3");
    client.run("SELECT streamld.publish('a', 'x', 'k', 'text/plain', true)");

    const auto page = store.read_all("a");
    BOOST_TEST(page.offsets() == (offsets{1, 2, 3, 4}), per_element());
    BOOST_TEST(page.events[1].payload == "{\"n\":2}");
    BOOST_TEST(!page.events[1].is_checked);
    BOOST_TEST(page.events[2].is_checked);
    BOOST_TEST(page.events[3].key.value() == "k");
    BOOST_TEST(page.events[3].content_type == "text/plain");
    BOOST_TEST(page.events[3].is_snapshot);
    BOOST_TEST(store.info("a")->bounds.head == 4);
}

BOOST_AUTO_TEST_CASE(several_rows_and_selects_are_numbered_in_order) {
    client.run("SELECT streamld.publish('a', '1'), streamld.publish('b', '1')");
    client.run("CREATE TABLE mine (n integer); INSERT INTO mine VALUES (2), (3), (4), (5)");
    client.run("SELECT streamld.publish('a', n::text) FROM (SELECT n FROM mine ORDER BY n) AS m");

    const auto page = store.read_all("a");
    BOOST_TEST(page.offsets() == (offsets{1, 2, 3, 4, 5}), per_element());
    for (const auto& event : page.events)
        BOOST_TEST(event.payload == std::to_string(event.offset));
}

BOOST_AUTO_TEST_CASE(event_goes_with_its_transaction_and_savepoint) {
    client.run("BEGIN; " + publish("'a'", "'1'") + "; ROLLBACK");
    BOOST_TEST(!store.info("a").has_value());

    client.run(
        "BEGIN; " + publish("'a'", "'1'") + "; SAVEPOINT s; " + publish("'a'", "'2'") +
        "; ROLLBACK TO s; " + publish("'a'", "'3'") + "; COMMIT"
    );

    const auto page = store.read_all("a");
    BOOST_TEST(page.offsets() == (offsets{1, 2}), per_element());
    BOOST_TEST(page.events.back().payload == "3");
}

BOOST_AUTO_TEST_CASE(payload_of_every_type_is_kept_byte_for_byte) {
    const std::string odd = R"( {"b":1e400,"a":12345678901234567890123,"a":"\ud800 \u0000"} )";
    client.run(publish("'a'", quoted(odd)));
    client.run(publish("'a'", quoted(odd) + "::json"));
    client.run(publish("'a'", "convert_to(" + quoted(odd) + ", 'UTF8')"));
    client.run(publish("'a'", R"('{"b":1,"a":2}'::jsonb)"));
    client.run(publish("'a'", "row_to_json(m)") + " FROM (SELECT 1 AS n) AS m");
    client.run("SELECT streamld.publish('a', '\\x00ff'::bytea, content_type => 'image/png')");

    const auto page = store.read_all("a");
    BOOST_REQUIRE(page.events.size() == 6U);
    for (int i = 0; i < 3; ++i)
        BOOST_TEST(page.events[static_cast<std::size_t>(i)].payload == odd);
    BOOST_TEST(page.events[3].payload == R"({"a": 2, "b": 1})");
    BOOST_TEST(page.events[4].payload == R"({"n":1})");
    BOOST_TEST((page.events[5].payload == std::string("\0\xFF", 2)));
}

BOOST_AUTO_TEST_CASE(names_and_keys_follow_the_rules) {
    const std::vector<std::string> faulty{
        "NULL", "''", "'.'", "'..'", "chr(10)", "chr(127)", "chr(133)", "repeat('x', 513)"};
    for (const auto& name : faulty) {
        BOOST_CHECK_EXCEPTION(client.run(publish(name, "'1'")), sql_failure, is_ours);
        if (name == "NULL" || name == "'.'" || name == "'..'") continue;
        BOOST_CHECK_EXCEPTION(
            client.run("SELECT streamld.publish('a', '1', " + name + ")"), sql_failure, is_ours
        );
    }
    // What is no UTF-8 or has a NUL is refused by the database before we see it.
    BOOST_CHECK_THROW(client.run(publish("E'\\xC3'", "'1'")), sql_failure);
    BOOST_CHECK_THROW(client.run(publish("'a' || chr(0)", "'1'")), sql_failure);

    for (const char* name :
         {"chr(233)", "chr(128512)", "chr(65535)", "'a b'", "repeat('x', 512)", "'A'", "'a'"})
        client.run(publish(name, "'1'"));
    BOOST_TEST(client.value("SELECT count(*) FROM streamld.stream") == "7");
    client.run("SELECT streamld.publish('a', '1', '..')");
    BOOST_TEST(store.info(std::string(512, 'x'))->bounds.head == 1);
}

BOOST_AUTO_TEST_CASE(payloads_follow_the_rules) {
    const std::vector<std::string> faulty{
        "NULL::text",
        "''",
        "'{'",
        "'01'",
        "'1 2'",
        "'[' || repeat('[', 1000000)",
        "''::bytea",
        "'\\xff'::bytea",
        "'\\x3100'::bytea",
        "'[]', content_type => 'application/ld+json'",
        "'[]'::jsonb, content_type => 'application/ld+json'",
        "'{', content_type => 'application/cloudevents+json'",
        "'1', content_type => 'Text/Plain; x=y'",
        "'1', content_type => 'text'",
        "'1', content_type => ''",
        "'1', content_type => 'a/b/c'",
    };
    for (const auto& payload : faulty)
        BOOST_CHECK_EXCEPTION(client.run(publish("'a'", payload)), sql_failure, is_ours);
    BOOST_TEST(!store.info("a").has_value());

    client.run(publish("'a'", "'\\x5b315d'::bytea"));
    client.run(publish("'a'", "'{}', content_type => 'application/ld+json'"));
    client.run(publish("'a'", "'{', content_type => 'text/x.y+z'"));
    BOOST_TEST(store.read_all("a").events[0].payload == "[1]");
    BOOST_TEST(store.read_all("a").events[1].content_type == "application/ld+json");
}

BOOST_AUTO_TEST_CASE(payload_may_have_16_mib_and_no_byte_more) {
    client.run(publish("repeat('n', 512)", "'\"' || repeat('x', 16777214) || '\"'"));
    BOOST_CHECK_EXCEPTION(
        client.run(publish("'b'", "'\"' || repeat('x', 16777215) || '\"'")), sql_failure, is_ours
    );

    BOOST_TEST(store.read_all(std::string(512, 'n')).events[0].payload.size() == 16777216U);
    BOOST_TEST(!store.info("b").has_value());
}

BOOST_AUTO_TEST_CASE(view_shows_what_readers_see) {
    for (const char* payload : {"'1'", "'2'"})
        client.run(publish("'a'", payload));
    client.run("SELECT streamld.publish('a', 'x', 'k', 'text/plain', true)");
    client.run("SELECT streamld.publish('a', '\\x00'::bytea, content_type => 'text/plain')");
    client.run("SELECT streamld.publish('a', '\\x31'::bytea, content_type => 'image/png')");
    store.trim("a", 1);

    BOOST_TEST(
        client.value("SELECT string_agg(sequence || ':' || coalesce(payload_text, '-'), ' ' ORDER "
                     "BY sequence) FROM streamld.events WHERE stream = 'a'") == "2:2 3:x 4:- 5:-"
    );
    BOOST_TEST(
        client.value("SELECT content_type || key || is_snapshot FROM streamld.events WHERE "
                     "sequence = 3") == "text/plainktrue"
    );
}

BOOST_AUTO_TEST_CASE(transactions_number_in_the_order_of_their_commits) {
    plain_postgres other{database.url()};
    client.run("BEGIN; " + publish("'a'", "'1'"));
    other.begin(publish("'a'", "'2'"));
    const bool has_waited = !other.is_done(std::chrono::milliseconds(100));
    client.run(publish("'b'", "'1'") + "; COMMIT");

    BOOST_TEST(has_waited);
    BOOST_TEST(other.finish() == "2");
    other.run("BEGIN; " + publish("'a'", "'3'"));
    client.begin(publish("'a'", "'4'"));
    BOOST_TEST(!client.is_done(std::chrono::milliseconds(100)));
    other.run("ROLLBACK");
    BOOST_TEST(client.finish() == "3");
    BOOST_TEST(store.read_all("a").offsets() == (offsets{1, 2, 3}), per_element());
    BOOST_TEST(store.read_all("a").events[2].payload == "4");
}

BOOST_AUTO_TEST_CASE(stricter_isolation_fails_rather_than_doubling_a_number) {
    client.run(publish("'a'", "'1'"));
    for (const std::string level : {"REPEATABLE READ", "SERIALIZABLE"}) {
        for (const std::string& stream : {std::string("'a'"), "'new " + level + "'"}) {
            plain_postgres other{database.url()};
            other.run("BEGIN ISOLATION LEVEL " + level + "; SELECT count(*) FROM pg_class");
            client.run(publish(stream, "'2'"));
            BOOST_CHECK_EXCEPTION(
                other.run(publish(stream, "'3'")),
                sql_failure,
                [](const sql_failure& fault) { return fault.sqlstate() == "40001"; }
            );
            other.run("ROLLBACK; BEGIN ISOLATION LEVEL " + level);
            other.run(publish(stream, "'3'") + "; COMMIT");
        }
    }

    BOOST_TEST(store.read_all("a").offsets() == (offsets{1, 2, 3, 4, 5}), per_element());
}

BOOST_AUTO_TEST_CASE(sessions_that_create_the_same_streams_leave_no_hole) {
    constexpr int sessions = 4;
    constexpr int rounds = 40;
    std::vector<std::thread> threads;
    std::vector<std::string> faults(sessions);
    for (int i = 0; i < sessions; ++i)
        threads.emplace_back([&, i] {
            try {
                plain_postgres session{database.url()};
                for (int k = 0; k < rounds; ++k)
                    session.run(publish("'s" + std::to_string(k % 10) + "'", "'1'"));
            } catch (const std::exception& fault) {
                faults[static_cast<std::size_t>(i)] = fault.what();
            }
        });
    for (auto& thread : threads)
        thread.join();

    for (const auto& fault : faults)
        BOOST_TEST(fault.empty(), fault);
    BOOST_TEST(
        client.value(
            "SELECT count(*) FROM streamld.stream AS s WHERE head <> 16 OR head <> (SELECT "
            "count(*) FROM streamld.event AS e WHERE e.stream_id = s.id)"
        ) == "0"
    );
}

BOOST_AUTO_TEST_CASE(gateway_does_not_wait_for_a_stream_that_a_client_holds) {
    client.run(publish("'held'", "'1'") + ";" + publish("'free'", "'1'"));
    client.run("BEGIN; " + publish("'held'", "'2'") + ";" + publish("'new'", "'1'"));
    plain_postgres gateway{database.url()};
    gateway.run("SET lock_timeout = 1; BEGIN");

    BOOST_TEST(gateway.value(gateway_append("'{held,free,new,newer,held,free}'")) == "4,0,4,0,4,0");
    gateway.run("COMMIT");
    client.run("COMMIT");
    gateway.run("BEGIN");
    BOOST_TEST(gateway.value(gateway_append("'{held,new}'")) == "0,0");
    gateway.run("COMMIT");
    BOOST_TEST(store.info("held")->bounds.head == 3);
    BOOST_TEST(store.info("new")->bounds.head == 2);
    BOOST_TEST(store.info("free")->bounds.head == 3);
    BOOST_TEST(store.info("newer")->bounds.head == 1);
}

BOOST_AUTO_TEST_CASE(gateways_hear_of_each_publish_up_to_64_and_then_once_of_all) {
    plain_postgres listener{database.url()};
    listener.run("LISTEN streamld");
    client.run("BEGIN; SELECT count(streamld.publish('a', n::text)) FROM generate_series(1, 1000) "
               "AS n; COMMIT");

    for (int i = 1; i <= 64; ++i)
        BOOST_TEST(next_hint(listener) == std::to_string(i) + " a");
    BOOST_TEST(next_hint(listener) == "*");
    client.run(publish("'a b'", "'1'"));
    BOOST_TEST(next_hint(listener) == "1 a b");
}

BOOST_AUTO_TEST_CASE(notifications_follow_savepoints_and_can_be_switched_off) {
    plain_postgres listener{database.url()};
    listener.run("LISTEN streamld");
    client.run("BEGIN; " + publish("'a'", "'1'") + "; SAVEPOINT s");
    client.run("SELECT count(streamld.publish('b', n::text)) FROM generate_series(1, 100) AS n");
    client.run("ROLLBACK TO s; " + publish("'a'", "'2'") + "; COMMIT");
    client.run("SET streamld.notify = 'off'; " + publish("'a'", "'3'"));
    client.run("RESET streamld.notify; " + publish("'a'", "'4'"));

    for (const char* expected : {"1 a", "2 a", "4 a"})
        BOOST_TEST(next_hint(listener) == expected);
}

BOOST_AUTO_TEST_CASE(offsets_are_saved_in_the_clients_transaction) {
    const std::string save = "SELECT streamld.save_offset('a', 'c', ";
    BOOST_CHECK_EXCEPTION(client.run(save + "0)"), sql_failure, is_ours);
    client.run(publish("'a'", "'1'") + ";" + publish("'a'", "'2'"));
    client.run("BEGIN; " + save + "2); ROLLBACK");
    BOOST_TEST(store.get_offset("a", "c") == 0);

    BOOST_TEST(client.value(save + "2)") == "2");
    BOOST_TEST(client.value(save + "1)") == "2");
    for (const char* faulty : {"3)", "-1)", "NULL)"})
        BOOST_CHECK_EXCEPTION(client.run(save + faulty), sql_failure, is_ours);
    BOOST_CHECK_EXCEPTION(
        client.run("SELECT streamld.save_offset('a', '..', 1)"), sql_failure, is_ours
    );
    BOOST_TEST(store.get_offset("a", "c") == 2);
}

BOOST_AUTO_TEST_CASE(psql_publishes_in_a_transaction_of_its_own) {
    if (run_command("psql --version").status != 0) return;
    const auto shell = run_command(
        "psql -qAt --single-transaction '" + database.url() +
        "' -c \"CREATE TABLE mine AS SELECT 1 AS id\" -c \"SELECT streamld.publish('a', '1')\""
    );

    BOOST_TEST(shell.status == 0, shell.output);
    BOOST_TEST(store.read_all("a").events.size() == 1U);
}

BOOST_AUTO_TEST_CASE(function_inside_a_transaction_of_the_engine_keeps_the_numbers) {
    auto work = [&](streamld::store::tx_handle& tx) -> boost::asio::awaitable<void> {
        co_await tx.publish_tx("a", "1");
        std::vector<streamld::store::tx_handle::sql_value> none;
        co_await tx.execute("SELECT streamld.publish('a', '2')", std::move(none));
        const offset_t third = co_await tx.publish_tx("a", "3");
        BOOST_TEST(third == 3);
    };
    store.transact(work);

    BOOST_TEST(store.read_all("a").offsets() == (offsets{1, 2, 3}), per_element());
    BOOST_TEST(store.observer.wait(std::chrono::seconds(5), [&] {
        return store.observer.grown_head("a") == 3;
    }));
}

BOOST_AUTO_TEST_SUITE_END()
