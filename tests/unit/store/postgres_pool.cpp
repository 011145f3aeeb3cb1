#include "store/postgres/pool.hpp"
#include "support/postgres_server.hpp"
#include "unit/store/postgres_session.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace asio = boost::asio;
using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;
using streamld::store::errc;
using streamld::store::error;
using streamld::store::postgres::ask;
using streamld::store::postgres::dsn;
using streamld::store::postgres::lease;
using streamld::store::postgres::pool;
using streamld::store::postgres::postgres_fault;
using streamld::store::postgres::query;
using streamld::store::postgres::result;
using streamld::tests::expect_backend_gone;
using streamld::tests::plain_postgres;
using streamld::tests::run_loop;
using streamld::tests::soon;
using streamld::tests::within;

namespace {

class pool_of {
public:
    explicit pool_of(std::size_t connections_max)
        : where_(dsn::parse(streamld::tests::postgres_server_url())),
          connections(loop.context().get_executor(), where_, connections_max) {}

    lease acquire(streamld::store::deadline_t deadline = soon()) {
        return loop.await(connections.acquire(deadline));
    }

    errc fault_of_acquire(streamld::store::deadline_t deadline = soon()) {
        try {
            acquire(deadline);
        } catch (const error& fault) {
            return fault.which();
        }
        return {};
    }

    run_loop loop;

private:
    dsn where_;

public:
    pool connections;
};

} // namespace

BOOST_AUTO_TEST_SUITE(store_postgres_pool)

BOOST_AUTO_TEST_CASE(connection_that_came_back_is_lent_again) {
    pool_of one(1);
    lease first = one.acquire();
    const int pid = first->backend_pid();
    first.give_back();

    const lease second = one.acquire();

    BOOST_TEST(second->backend_pid() == pid);
    BOOST_TEST(one.connections.open_connections() == 1U);
    BOOST_TEST(!first);
}

BOOST_AUTO_TEST_CASE(no_more_connections_than_allowed) {
    pool_of two(2);
    const lease first = two.acquire();
    const lease second = two.acquire();

    const errc fault = two.fault_of_acquire(within(milliseconds(20)));

    BOOST_TEST((fault == errc::busy));
    BOOST_TEST(two.connections.open_connections() == 2U);
    BOOST_TEST(first->backend_pid() != second->backend_pid());
}

BOOST_AUTO_TEST_CASE(who_waited_first_is_served_first) {
    pool_of one(1);
    lease taken = one.acquire();
    std::vector<int> served;
    int waiting = 0;
    const auto wait = [&](int number) -> asio::awaitable<void> {
        ++waiting;
        const lease own = co_await one.connections.acquire(soon());
        served.push_back(number);
        query what("SELECT 1");
        const result row = co_await ask(*own, std::move(what), soon());
    };
    for (int number = 0; number < 5; ++number)
        one.loop.start(wait(number));
    one.loop.until([&] { return waiting == 5; });

    taken.give_back();
    // Who comes now stands behind them.
    one.loop.start(wait(5));
    one.loop.join();

    const std::vector<int> expected{0, 1, 2, 3, 4, 5};
    BOOST_TEST(served == expected, boost::test_tools::per_element());
    BOOST_TEST(one.connections.open_connections() == 1U);
}

BOOST_AUTO_TEST_CASE(late_waiter_leaves_its_place_to_the_next) {
    pool_of one(1);
    lease taken = one.acquire();
    std::optional<errc> late;
    bool is_served = false;
    const auto impatient = [&]() -> asio::awaitable<void> {
        try {
            const lease own = co_await one.connections.acquire(within(milliseconds(20)));
        } catch (const error& fault) {
            late = fault.which();
        }
    };
    const auto patient = [&]() -> asio::awaitable<void> {
        const lease own = co_await one.connections.acquire(soon());
        is_served = true;
    };
    one.loop.start(impatient());
    one.loop.start(patient());
    one.loop.until([&] { return late.has_value(); });

    taken.give_back();
    one.loop.join();

    BOOST_TEST((late == errc::busy));
    BOOST_TEST(is_served);
}

BOOST_AUTO_TEST_CASE(open_transaction_closes_the_connection) {
    pool_of one(1);
    lease first = one.acquire();
    const int pid = first->backend_pid();
    one.loop.await(ask(*first, query("BEGIN"), soon()));
    first.give_back();

    const lease second = one.acquire();

    BOOST_TEST(second->backend_pid() != pid);
    BOOST_TEST(!second->is_in_transaction());
}

BOOST_AUTO_TEST_CASE(connection_that_ended_while_idle_is_not_lent) {
    pool_of one(1);
    plain_postgres observer(streamld::tests::postgres_server_url());
    lease first = one.acquire();
    const int pid = first->backend_pid();
    first.give_back();
    observer.run("SELECT pg_terminate_backend(" + std::to_string(pid) + ")");
    expect_backend_gone(one.loop, observer, pid);

    const lease second = one.acquire();

    BOOST_TEST(second->backend_pid() != pid);
    BOOST_TEST(one.loop.await(ask(*second, query("SELECT 1"), soon())).integer(0, 0) == 1);
}

BOOST_AUTO_TEST_CASE(renewal_replaces_idle_and_lent_connections) {
    pool_of two(2);
    lease lent = two.acquire();
    lease idle = two.acquire();
    const int lent_pid = lent->backend_pid();
    const int idle_pid = idle->backend_pid();
    idle.give_back();

    two.connections.renew();
    BOOST_TEST(two.connections.open_connections() == 1U);
    lent.give_back();
    BOOST_TEST(two.connections.open_connections() == 0U);
    const lease first = two.acquire();
    const lease second = two.acquire();

    for (const int pid : {first->backend_pid(), second->backend_pid()}) {
        BOOST_TEST(pid != lent_pid);
        BOOST_TEST(pid != idle_pid);
    }
}

BOOST_AUTO_TEST_CASE(closed_pool_refuses_and_wakes_who_waits) {
    pool_of one(1);
    lease taken = one.acquire();
    std::optional<errc> refusal;
    bool is_waiting = false;
    const auto wait = [&]() -> asio::awaitable<void> {
        is_waiting = true;
        try {
            const lease own = co_await one.connections.acquire(soon());
        } catch (const error& fault) {
            refusal = fault.which();
        }
    };
    one.loop.start(wait());
    one.loop.until(is_waiting);

    one.connections.close();
    one.loop.join();
    taken.give_back();

    BOOST_TEST((refusal == errc::closed));
    BOOST_TEST((one.fault_of_acquire() == errc::closed));
    BOOST_TEST(one.connections.open_connections() == 0U);
}

BOOST_AUTO_TEST_CASE(absent_database_is_not_stormed) {
    run_loop loop;
    // Nobody serves in this folder.
    const dsn nowhere = dsn::parse("postgres://u@/d?host=/nonexistent");
    pool connections(loop.context().get_executor(), nowhere, 4);
    const auto attempt = [&] {
        try {
            loop.await(connections.acquire(soon()));
        } catch (const postgres_fault& fault) {
            return fault.words();
        }
        return std::string();
    };

    const std::string first = attempt();
    const auto began = steady_clock::now();
    for (int i = 0; i < 1000; ++i)
        BOOST_TEST(attempt() == first);

    BOOST_TEST(first.find("/nonexistent") != std::string::npos);
    BOOST_TEST((steady_clock::now() - began < seconds(30)));
    BOOST_TEST(connections.open_connections() == 0U);
}

BOOST_AUTO_TEST_CASE(lease_and_waiter_may_outlive_the_pool) {
    const dsn where = dsn::parse(streamld::tests::postgres_server_url());
    run_loop loop;
    std::optional<pool> connections(std::in_place, loop.context().get_executor(), where, 1U);
    lease taken = loop.await(connections->acquire(soon()));
    bool is_waiting = false;
    const auto wait = [](pool& from, bool& waiting) -> asio::awaitable<void> {
        waiting = true;
        const lease own = co_await from.acquire(soon());
    };
    loop.start(wait(*connections, is_waiting));
    loop.until(is_waiting);

    connections.reset();
    taken.give_back();

    BOOST_TEST(!taken);
}

BOOST_AUTO_TEST_SUITE_END()
