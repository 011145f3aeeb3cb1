// Publishing by plain SQL from any SQLite client, without streamld.

#include "support/plain_sqlite.hpp"
#include "support/store_fixture.hpp"
#include "support/temp_dir.hpp"

#include <boost/test/unit_test.hpp>

#include <fstream>

using boost::test_tools::per_element;
using streamld::store::offset_t;
using streamld::tests::plain_sqlite;
using streamld::tests::run_command;
using streamld::tests::sql_failure;
using offsets = std::vector<offset_t>;

namespace {

struct shared_file {
    streamld::tests::temp_dir directory;
    std::string path = directory.file("store.db");
    streamld::tests::store_fixture store{"sqlite:" + path};
    plain_sqlite client{path};
};

std::string insert(const std::string& stream, const std::string& payload) {
    return "INSERT INTO streamld_publish (stream, payload) VALUES (" + stream + ", " + payload +
           ")";
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(contract_sqlite_plain_sql, shared_file)

BOOST_AUTO_TEST_CASE(plain_insert_is_an_event_like_any_other) {
    store.publish("a", "1");
    client.run(insert("'a'", "'{\"n\":2}'"));
    store.publish("a", "3");
    client.run("INSERT INTO streamld_publish VALUES ('a', 'k', 'x', 'text/plain', 1)");

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
    client.run(
        "INSERT INTO streamld_publish (stream, payload) VALUES ('a', '1'), ('b', '1'), ('a', '2')"
    );
    client.run("CREATE TABLE mine (n INTEGER); INSERT INTO mine VALUES (3), (4), (5)");
    client.run("INSERT INTO streamld_publish (stream, payload) SELECT 'a', CAST(n AS TEXT) FROM "
               "mine ORDER BY n");

    const auto page = store.read_all("a");
    BOOST_TEST(page.offsets() == (offsets{1, 2, 3, 4, 5}), per_element());
    for (const auto& event : page.events)
        BOOST_TEST(event.payload == std::to_string(event.offset));
}

BOOST_AUTO_TEST_CASE(event_goes_with_its_transaction_and_savepoint) {
    client.run("BEGIN; " + insert("'a'", "'1'") + "; ROLLBACK");
    BOOST_TEST(!store.info("a").has_value());

    client.run(
        "BEGIN; " + insert("'a'", "'1'") + "; SAVEPOINT s; " + insert("'a'", "'2'") +
        "; ROLLBACK TO s; " + insert("'a'", "'3'") + "; COMMIT"
    );

    const auto page = store.read_all("a");
    BOOST_TEST(page.offsets() == (offsets{1, 2}), per_element());
    BOOST_TEST(page.events.back().payload == "3");
}

BOOST_AUTO_TEST_CASE(conflict_clauses_of_the_client_change_nothing) {
    for (const char* clause : {"OR IGNORE", "OR REPLACE", "OR FAIL", "OR ABORT"}) {
        const std::string verb =
            std::string("INSERT ") + clause + " INTO streamld_publish (stream, payload) VALUES ";
        client.run(verb + "('a', '1')");
        BOOST_CHECK_THROW(client.run(verb + "('a', '{')"), sql_failure);
        BOOST_CHECK_THROW(client.run(verb + "('..', '1')"), sql_failure);
    }

    BOOST_TEST(store.read_all("a").offsets() == (offsets{1, 2, 3, 4}), per_element());
}

BOOST_AUTO_TEST_CASE(names_and_keys_follow_the_rules) {
    const std::vector<std::string> faulty{
        "NULL",
        "''",
        "'.'",
        "'..'",
        "5",
        "x'61'",
        "char(10)",
        "char(127)",
        "char(133)",
        "'a' || char(0) || 'b'",
        "CAST(x'FF' AS TEXT)",
        "CAST(x'C3' AS TEXT)",
        "CAST(x'EDA080' AS TEXT)",
        "CAST(x'C0AF' AS TEXT)",
        "CAST(x'F4908080' AS TEXT)",
        "CAST(x'C3A9A9' AS TEXT)",
        "printf('%.513c', 'x')",
    };
    for (const auto& name : faulty) {
        BOOST_CHECK_THROW(client.run(insert(name, "'1'")), sql_failure);
        if (name == "NULL" || name == "'.'" || name == "'..'") continue;
        BOOST_CHECK_THROW(
            client.run(
                "INSERT INTO streamld_publish (stream, key, payload) VALUES ('a', " + name +
                ", '1')"
            ),
            sql_failure
        );
    }

    for (const char* name :
         {"char(233)", "char(128512)", "char(65535)", "'a b'", "printf('%.512c', 'x')"})
        client.run(insert(name, "'1'"));
    BOOST_TEST(client.value("SELECT count(*) FROM streamld_stream") == "5");
}

BOOST_AUTO_TEST_CASE(payloads_follow_the_rules) {
    for (const char* payload : {"NULL", "''", "'{'", "'01'", "5", "x''", "'1' || char(0)"})
        BOOST_CHECK_THROW(client.run(insert("'a'", payload)), sql_failure);
    BOOST_CHECK_THROW(
        client.run("INSERT INTO streamld_publish (stream, payload, content_type) VALUES ('a', "
                   "'[]', 'application/ld+json')"),
        sql_failure
    );
    BOOST_CHECK_THROW(
        client.run("INSERT INTO streamld_publish (stream, payload, content_type) VALUES ('a', '1', "
                   "'Text/Plain; x=y')"),
        sql_failure
    );
    BOOST_TEST(!store.info("a").has_value());

    client.run(insert("'a'", "x'5B315D'"));
    client.run("INSERT INTO streamld_publish (stream, payload, content_type) VALUES ('a', x'00FF', "
               "'image/png')");
    const auto page = store.read_all("a");
    BOOST_TEST(page.events[0].payload == "[1]");
    BOOST_TEST((page.events[1].payload == std::string("\0\xFF", 2)));
}

BOOST_AUTO_TEST_CASE(other_programs_publish_in_their_own_transactions) {
    if (run_command("sqlite3 -version").status == 0) {
        const auto shell = run_command(
            "sqlite3 '" + path +
            "' \"INSERT INTO streamld_publish (stream, payload) VALUES ('a', '1')\""
        );
        BOOST_TEST(shell.status == 0, shell.output);
        BOOST_TEST(store.read_all("a").events.size() == 1U);
    }
    if (run_command("python3 -c 'import sqlite3'").status == 0) {
        const std::string script = directory.file("publish.py");
        std::ofstream(script) << "import sqlite3, sys\n"
                                 "db = sqlite3.connect(sys.argv[1])\n"
                                 "with db:\n"
                                 "    db.execute('CREATE TABLE mine (id INTEGER)')\n"
                                 "    db.execute('INSERT INTO mine VALUES (1)')\n"
                                 "    db.executemany('INSERT INTO streamld_publish (stream, key, "
                                 "payload) VALUES (?, ?, ?)',\n"
                                 "                   [('py', 'k', '1'), ('py', None, '2')])\n";
        const auto python = run_command("python3 '" + script + "' '" + path + "'");
        BOOST_TEST(python.status == 0, python.output);
        BOOST_TEST(store.read_all("py").events.size() == 2U);
    }
}

BOOST_AUTO_TEST_CASE(view_inside_a_transaction_of_the_engine_keeps_the_numbers) {
    auto work = [&](streamld::store::tx_handle& tx) -> boost::asio::awaitable<void> {
        co_await tx.publish_tx("a", "1");
        std::vector<streamld::store::tx_handle::sql_value> none;
        co_await tx.execute(
            "INSERT INTO streamld_publish (stream, payload) VALUES ('a', '2')", std::move(none)
        );
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
