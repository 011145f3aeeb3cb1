#include "contract/contract_case.hpp"

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <stdexcept>

using boost::asio::awaitable;
using streamld::store::errc;
using streamld::store::offset_t;
using streamld::store::tx_handle;
using streamld::tests::fails_with;
using streamld::tests::in_time;

namespace {

struct changed_my_mind : std::runtime_error {
    changed_my_mind() : runtime_error("changed my mind") {}
};

using values = std::vector<tx_handle::sql_value>;

awaitable<void> make_table(tx_handle& tx) {
    values none;
    co_await tx.execute(
        "CREATE TABLE business_row (id INTEGER PRIMARY KEY, name TEXT NOT NULL)", std::move(none)
    );
}

awaitable<void> add_row(tx_handle& tx, std::int64_t id) {
    values row;
    row.emplace_back(id);
    row.emplace_back(std::string("name"));
    co_await tx.execute("INSERT INTO business_row (id, name) VALUES ($1, $2)", std::move(row));
}

awaitable<std::int64_t> count_rows(tx_handle& tx) {
    values none;
    const auto rows = co_await tx.execute("SELECT count(*) FROM business_row", std::move(none));
    co_return std::get<std::int64_t>(rows.at(0).at(0));
}

} // namespace

BOOST_AUTO_TEST_SUITE(contract_transaction)

CONTRACT_CASE(row_and_event_are_committed_together) {
    store.transact(make_table);
    offset_t given = 0;
    std::int64_t rows = 0;

    auto work = [&](tx_handle& tx) -> awaitable<void> {
        co_await add_row(tx, 1);
        given = co_await tx.publish_tx("a", "1");
        std::optional<std::string> key("k");
        given = co_await tx.publish_with_key_tx("a", std::move(key), "2");
        co_await tx.save_offset_tx("a", "c", 2);
    };
    store.transact(work);
    auto look = [&](tx_handle& tx) -> awaitable<void> { rows = co_await count_rows(tx); };
    store.transact(look);

    const auto page = store.read_all("a");
    BOOST_TEST(given == 2);
    BOOST_TEST(rows == 1);
    BOOST_REQUIRE(page.events.size() == 2U);
    BOOST_TEST(!page.events[0].key.has_value());
    BOOST_TEST(page.events[1].key.value() == "k");
    BOOST_TEST(store.get_offset("a", "c") == 2);
    BOOST_TEST(store.observer.commits().size() == 2U);
}

CONTRACT_CASE(exception_takes_row_and_event_back) {
    store.transact(make_table);
    store.publish("a", "1");
    std::int64_t rows = -1;

    auto work = [&](tx_handle& tx) -> awaitable<void> {
        co_await add_row(tx, 1);
        std::optional<std::string> key("k");
        co_await tx.publish_with_key_tx("a", std::move(key), "2");
        co_await tx.publish_tx("ghost", "1");
        throw changed_my_mind();
    };
    BOOST_CHECK_THROW(store.transact(work), changed_my_mind);
    auto look = [&](tx_handle& tx) -> awaitable<void> { rows = co_await count_rows(tx); };
    store.transact(look);

    BOOST_TEST(rows == 0);
    BOOST_TEST(store.read_all("a").events.size() == 1U);
    BOOST_TEST(!store.info("ghost").has_value());
    BOOST_TEST(store.observer.commits().size() == 1U);
    BOOST_TEST(store.publish("a", "2") == 2);
}

CONTRACT_CASE(nothing_is_visible_before_the_commit) {
    store.publish("a", "1");
    std::size_t seen = 0;

    auto work = [&](tx_handle& tx) -> awaitable<void> {
        co_await tx.publish_tx("a", "2");
        streamld::store::read_request request;
        request.stream = "a";
        const auto page = co_await store.engine().read(std::move(request), in_time());
        seen = page.events.size();
        BOOST_TEST(store.observer.commits().size() == 1U);
    };
    store.transact(work);

    BOOST_TEST(seen == 1U);
    BOOST_TEST(store.read_all("a").events.size() == 2U);
}

CONTRACT_CASE(empty_key_and_bad_names_are_refused_inside_and_leave_it_open) {
    auto work = [&](tx_handle& tx) -> awaitable<void> {
        errc code{};
        try {
            std::optional<std::string> key("");
            co_await tx.publish_with_key_tx("a", std::move(key), "1");
        } catch (const streamld::store::error& fault) {
            code = fault.which();
        }
        BOOST_CHECK(code == errc::invalid_name);
        try {
            co_await tx.publish_tx("a", "{");
        } catch (const streamld::store::error& fault) {
            code = fault.which();
        }
        BOOST_CHECK(code == errc::invalid_payload);
        co_await tx.publish_tx("a", "1");
    };
    store.transact(work);

    BOOST_TEST(store.read_all("a").events.size() == 1U);
}

CONTRACT_CASE(callers_bad_statement_says_what_is_wrong) {
    store.transact(make_table);
    errc code{};

    auto work = [&](tx_handle& tx) -> awaitable<void> {
        values none;
        try {
            co_await tx.execute("SELECT nonsense FROM nowhere", std::move(none));
        } catch (const streamld::store::error& fault) {
            code = fault.which();
            throw;
        }
    };
    BOOST_TEST(fails_with(errc::statement, [&] { store.transact(work); }));
    BOOST_CHECK(code == errc::statement);
}

CONTRACT_CASE(transactions_ends_are_not_the_callers) {
    for (const char* sql : {"COMMIT", "ROLLBACK", "BEGIN"}) {
        auto work = [&](tx_handle& tx) -> awaitable<void> {
            values none;
            co_await tx.execute(sql, std::move(none));
        };
        BOOST_TEST(fails_with(errc::statement, [&] { store.transact(work); }), sql);
    }
}

CONTRACT_CASE(deadline_rolls_back) {
    auto work = [&](tx_handle& tx) -> awaitable<void> {
        co_await tx.publish_tx("a", "1");
        // A wait for something outside; the engine must not wait with it for ever.
        boost::asio::steady_timer outside(store.loop.context(), std::chrono::milliseconds(300));
        co_await outside.async_wait(boost::asio::use_awaitable);
        co_await tx.publish_tx("a", "2");
    };
    const auto soon = std::chrono::steady_clock::now() + std::chrono::milliseconds(100);

    BOOST_TEST(fails_with(errc::busy, [&] {
        store.loop.await(store.engine().transaction(work, soon));
    }));

    BOOST_TEST(!store.info("a").has_value());
    BOOST_TEST(store.publish("a", "1") == 1);
}

CONTRACT_CASE(publishes_wait_for_a_transaction_and_follow_it) {
    std::vector<offset_t> given;
    // Out here, since the transaction's coroutine ends before this one.
    auto publish = [&]() -> awaitable<void> {
        auto request = streamld::tests::one_event("a", "3");
        const auto outcome = co_await store.engine().append(std::move(request), in_time());
        given.push_back(outcome.first);
    };
    auto work = [&](tx_handle& tx) -> awaitable<void> {
        const offset_t first = co_await tx.publish_tx("a", "1");
        given.push_back(first);
        store.loop.start(publish());
        const offset_t second = co_await tx.publish_tx("a", "2");
        given.push_back(second);
    };
    store.transact(work);
    store.loop.join();

    BOOST_TEST(given == (std::vector<offset_t>{1, 2, 3}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()
