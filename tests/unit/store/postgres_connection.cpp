#include "store/postgres/connection.hpp"
#include "support/postgres_server.hpp"
#include "unit/store/postgres_session.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace asio = boost::asio;
using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;
using streamld::store::deadline_t;
using streamld::store::errc;
using streamld::store::postgres::connection;
using streamld::store::postgres::notification;
using streamld::store::postgres::postgres_fault;
using streamld::store::postgres::query;
using streamld::tests::expect_backend_gone;
using streamld::tests::plain_postgres;
using streamld::tests::postgres_session;
using streamld::tests::run_loop;
using streamld::tests::soon;
using streamld::tests::statements;
using streamld::tests::within;

namespace {

void terminate(postgres_session& session, plain_postgres& observer) {
    const int pid = session.db().backend_pid();
    observer.run("SELECT pg_terminate_backend(" + std::to_string(pid) + ")");
    expect_backend_gone(session.loop, observer, pid);
}

std::optional<notification> next_notification(postgres_session& session, deadline_t until) {
    return session.loop.await(session.db().next_notification(until));
}

} // namespace

BOOST_AUTO_TEST_SUITE(store_postgres_connection)

// ---------------------------------------------------------------- exchange

BOOST_AUTO_TEST_CASE(pipeline_answers_each_statement_in_order) {
    postgres_session session;

    const auto results =
        session.exchange(statements({"BEGIN", "SELECT 1", "SELECT 2 WHERE false", "", "COMMIT"}));

    BOOST_TEST_REQUIRE(results.size() == 5U);
    BOOST_TEST(results[1].integer(0, 0) == 1);
    BOOST_TEST(results[2].rows() == 0);
    BOOST_TEST(!session.db().is_in_transaction());
    BOOST_TEST(session.db().server_version() >= 130000);
}

BOOST_AUTO_TEST_CASE(failure_in_the_middle_undoes_all_and_leaves_a_usable_connection) {
    postgres_session session;
    session.ask(query("CREATE TABLE t (n int)"));

    const auto fault = session.fault_of(statements(
        {"BEGIN", "INSERT INTO t VALUES (1)", "SELECT 1/0", "INSERT INTO t VALUES (2)", "COMMIT"}
    ));

    BOOST_TEST_REQUIRE(fault.has_value());
    BOOST_TEST(fault->sqlstate() == "22012");
    BOOST_TEST(fault->words() == "division by zero");
    BOOST_TEST(!session.db().is_broken());
    BOOST_TEST(!session.db().is_in_transaction());
    BOOST_TEST(session.ask(query("SELECT count(*) FROM t")).integer(0, 0) == 0);
}

BOOST_AUTO_TEST_CASE(failure_alone_needs_no_recovery) {
    postgres_session session;

    const auto fault = session.fault_of(statements({"SELECT * FROM nowhere"}));

    BOOST_TEST_REQUIRE(fault.has_value());
    BOOST_TEST((fault->which() == errc::foreign));
    BOOST_TEST(!session.db().is_in_transaction());
}

BOOST_AUTO_TEST_CASE(recovery_to_a_savepoint_keeps_the_transaction) {
    postgres_session session;
    session.exchange(statements(
        {"CREATE TABLE t (n int)", "BEGIN", "INSERT INTO t VALUES (1)", "SAVEPOINT before"}
    ));

    const auto fault = session.fault_of(
        statements({"INSERT INTO t VALUES (2)", "SELECT 1/0"}), "ROLLBACK TO SAVEPOINT before"
    );

    BOOST_TEST(fault.has_value());
    BOOST_TEST(session.db().is_in_transaction());
    session.exchange(statements({"INSERT INTO t VALUES (3)", "COMMIT"}));
    BOOST_TEST(session.ask(query("SELECT sum(n)::int8 FROM t")).integer(0, 0) == 4);
}

BOOST_AUTO_TEST_CASE(copy_is_refused_and_does_not_hang) {
    postgres_session session;

    const auto fault = session.fault_of(statements({"COPY (SELECT 1) TO STDOUT"}));

    BOOST_TEST_REQUIRE(fault.has_value());
    BOOST_TEST(fault->words() == "COPY is not possible here");
    BOOST_TEST(session.db().is_broken());
}

BOOST_AUTO_TEST_CASE(text_that_is_no_utf8_is_the_callers_fault) {
    postgres_session session;
    query what("SELECT $1");
    what.text("\xFF");
    std::vector<query> queries;
    queries.push_back(std::move(what));

    const auto fault = session.fault_of(std::move(queries));

    BOOST_TEST_REQUIRE(fault.has_value());
    BOOST_TEST((fault->which() == errc::invalid_payload));
    BOOST_TEST(!session.db().is_broken());
}

BOOST_AUTO_TEST_CASE(large_questions_and_answers_pass_each_other) {
    postgres_session session;
    const std::string large(std::size_t{32} << 20, 'x');
    std::vector<query> queries;
    for (int i = 0; i < 2; ++i) {
        query echo("SELECT $1");
        echo.bytes(large);
        queries.push_back(std::move(echo));
    }

    const auto results = session.exchange(std::move(queries));

    BOOST_TEST_REQUIRE(results.size() == 2U);
    BOOST_TEST((results[0].bytes(0, 0) == large));
    BOOST_TEST((results[1].bytes(0, 0) == large));
}

// ---------------------------------------------------------------- the end of a connection

BOOST_AUTO_TEST_CASE(deadline_breaks_the_connection_and_the_server_stops) {
    postgres_session session;
    plain_postgres observer(session.url());
    const int pid = session.db().backend_pid();
    const auto began = steady_clock::now();

    const auto fault = session.fault_of(
        statements({"SELECT pg_sleep(60)"}), "ROLLBACK", within(milliseconds(200))
    );

    BOOST_TEST_REQUIRE(fault.has_value());
    BOOST_TEST((fault->which() == errc::unavailable));
    BOOST_TEST(fault->sqlstate().empty());
    BOOST_TEST(session.db().is_broken());
    BOOST_TEST((steady_clock::now() - began < seconds(5)));
    expect_backend_gone(session.loop, observer, pid);
    BOOST_TEST((steady_clock::now() - began < seconds(30)));
}

BOOST_AUTO_TEST_CASE(deadline_in_the_past_sends_nothing) {
    postgres_session session;

    const auto fault =
        session.fault_of(statements({"CREATE TABLE t (n int)"}), "ROLLBACK", steady_clock::now());

    BOOST_TEST_REQUIRE(fault.has_value());
    BOOST_TEST((fault->which() == errc::busy));
    BOOST_TEST(!fault->ends_connection());
    BOOST_TEST(!session.db().is_broken());
    BOOST_TEST(session.ask(query("SELECT to_regclass('t') IS NULL")).boolean(0, 0));
}

BOOST_AUTO_TEST_CASE(terminated_backend_is_noticed_while_idle) {
    postgres_session session;
    plain_postgres observer(session.url());
    BOOST_TEST(session.db().is_alive());

    terminate(session, observer);

    BOOST_TEST(!session.db().is_alive());
    BOOST_TEST(session.db().is_broken());
    BOOST_TEST(session.fault_of(statements({"SELECT 1"}))->sqlstate() == "57P01");
}

BOOST_AUTO_TEST_CASE(terminated_backend_is_noticed_by_an_exchange) {
    postgres_session session;
    plain_postgres observer(session.url());
    terminate(session, observer);

    const auto fault = session.fault_of(statements({"SELECT 1"}));

    BOOST_TEST_REQUIRE(fault.has_value());
    BOOST_TEST((fault->which() == errc::unavailable));
    BOOST_TEST(fault->ends_connection());
    BOOST_TEST(session.db().is_broken());
}

BOOST_AUTO_TEST_CASE(terminated_backend_is_noticed_in_a_statement) {
    postgres_session session;
    plain_postgres observer(session.url());
    const std::string kill =
        "SELECT pg_terminate_backend(" + std::to_string(session.db().backend_pid()) + ")";
    std::optional<postgres_fault> fault;
    const auto sleep = [&]() -> asio::awaitable<void> {
        auto long_one = statements({"SELECT pg_sleep(60)"});
        try {
            co_await session.db().exchange(std::move(long_one), soon());
        } catch (const postgres_fault& caught) {
            fault = caught;
        }
    };

    session.loop.start(sleep());
    session.loop.until([&] {
        return observer.value(
                   "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'SELECT pg_s%'"
               ) == "1";
    });
    observer.run(kill);
    session.loop.join();

    BOOST_TEST_REQUIRE(fault.has_value());
    BOOST_TEST(fault->sqlstate() == "57P01");
    BOOST_TEST(session.db().is_broken());
}

BOOST_AUTO_TEST_CASE(read_only_server_ends_the_connection) {
    postgres_session session;
    session.exchange(statements({"SET default_transaction_read_only = on"}));

    const auto fault = session.fault_of(statements({"CREATE TABLE t (n int)"}));

    BOOST_TEST_REQUIRE(fault.has_value());
    BOOST_TEST(fault->sqlstate() == "25006");
    BOOST_TEST((fault->which() == errc::unavailable));
    BOOST_TEST(session.db().is_broken());
}

BOOST_AUTO_TEST_CASE(abort_wakes_who_waits) {
    postgres_session session;
    bool is_waiting = false;
    std::optional<postgres_fault> fault;
    const auto listen = [&]() -> asio::awaitable<void> {
        is_waiting = true;
        try {
            co_await session.db().next_notification(soon());
        } catch (const postgres_fault& caught) {
            fault = caught;
        }
    };

    session.loop.start(listen());
    session.loop.until(is_waiting);
    session.db().abort();
    session.loop.join();

    BOOST_TEST(fault.has_value());
    BOOST_TEST(session.db().is_broken());
}

BOOST_AUTO_TEST_CASE(coroutine_may_vanish_in_the_middle_of_an_exchange) {
    std::optional<postgres_session> session(std::in_place);
    plain_postgres observer(streamld::tests::postgres_server_url());
    const int pid = session->db().backend_pid();
    bool is_started = false;
    const auto sleep = [](std::unique_ptr<connection> db, bool& started) -> asio::awaitable<void> {
        auto long_one = statements({"SELECT pg_sleep(60)"});
        started = true;
        co_await db->exchange(std::move(long_one), soon());
    };
    session->loop.start(sleep(session->take(), is_started));
    session->loop.until(is_started);

    BOOST_TEST_REQUIRE(is_started);
    session.reset();

    run_loop other;
    expect_backend_gone(other, observer, pid);
}

// ---------------------------------------------------------------- notifications

BOOST_AUTO_TEST_CASE(notification_wakes_the_listener) {
    postgres_session session;
    plain_postgres notifier(session.url());
    session.ask(query("LISTEN news"));
    std::optional<notification> got;
    bool is_waiting = false;
    const auto listen = [&]() -> asio::awaitable<void> {
        is_waiting = true;
        got = co_await session.db().next_notification(soon());
    };

    session.loop.start(listen());
    session.loop.until(is_waiting);
    notifier.run("NOTIFY news, 'paper'");
    session.loop.join();

    BOOST_TEST_REQUIRE(got.has_value());
    BOOST_TEST(got->channel == "news");
    BOOST_TEST(got->payload == "paper");
    BOOST_TEST(got->sender_pid == notifier.backend_pid());
}

BOOST_AUTO_TEST_CASE(notifications_during_an_exchange_are_kept_in_order) {
    postgres_session session;
    session.ask(query("LISTEN news"));

    session.exchange(statements({"NOTIFY news, 'one'", "NOTIFY news, 'two'"}));

    BOOST_TEST(next_notification(session, soon())->payload == "one");
    BOOST_TEST(next_notification(session, soon())->payload == "two");
    BOOST_TEST(!next_notification(session, within(milliseconds(20))).has_value());
    BOOST_TEST(!session.db().is_broken());
}

BOOST_AUTO_TEST_CASE(listener_hears_of_the_end_after_the_last_notification) {
    postgres_session session;
    plain_postgres observer(session.url());
    session.ask(query("LISTEN news"));
    observer.run("NOTIFY news, 'last'");
    // An answer comes after the notifications that were there before the question.
    session.ask(query("SELECT 1"));

    terminate(session, observer);

    BOOST_TEST(next_notification(session, soon())->payload == "last");
    BOOST_CHECK_THROW(next_notification(session, soon()), postgres_fault);
    BOOST_TEST(session.db().is_broken());
}

BOOST_AUTO_TEST_SUITE_END()
