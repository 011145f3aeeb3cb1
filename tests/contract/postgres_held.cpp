// A stream that another program's transaction holds delays only itself.

#include "support/plain_postgres.hpp"
#include "support/postgres_server.hpp"
#include "support/store_fixture.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <vector>

using boost::asio::awaitable;
using boost::test_tools::per_element;
using std::chrono::milliseconds;
using streamld::store::append_outcome;
using streamld::store::deadline_t;
using streamld::store::errc;
using streamld::store::offset_t;
using streamld::tests::fails_with;
using streamld::tests::in_time;
using streamld::tests::one_event;
using streamld::tests::plain_postgres;
using clock_type = std::chrono::steady_clock;
using offsets = std::vector<offset_t>;

namespace {

struct held_stream {
    streamld::tests::test_database database;
    streamld::tests::store_fixture store{database.url()};
    plain_postgres holder{database.url()};

    /// Publishes to `stream` in a transaction that stays open.
    void hold(const std::string& stream) {
        holder.run("BEGIN; SELECT streamld.publish('" + stream + "', '\"held\"')");
    }

    awaitable<void> publish(std::string stream, std::string payload, deadline_t deadline) {
        auto request = one_event(stream, payload);
        try {
            const append_outcome outcome =
                co_await store.engine().append(std::move(request), deadline);
            given.push_back(outcome.first);
        } catch (const streamld::store::error& fault) {
            refused.push_back(fault.which());
        }
    }

    void start(const std::string& stream, const std::string& payload, deadline_t deadline) {
        store.loop.start(publish(stream, payload, deadline));
    }

    /// Until the engine has found out that this many streams are held.
    void until_held(std::size_t streams) {
        store.loop.until([&] { return store.engine().figures().held_streams == streams; });
    }

    std::vector<offset_t> given;
    std::vector<errc> refused;
};

deadline_t in(milliseconds time) {
    return clock_type::now() + time;
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(contract_postgres_held, held_stream)

BOOST_AUTO_TEST_CASE(other_streams_are_published_to_meanwhile) {
    store.publish("a", "1");
    hold("a");
    start("a", "2", in_time());
    until_held(1);

    BOOST_TEST(store.publish("b", "1") == 1);
    BOOST_TEST(store.publish("b", "2") == 2);
    BOOST_TEST(given.empty());

    holder.run("COMMIT");
    store.loop.join();
    BOOST_TEST(given == offsets{3}, per_element());
}

BOOST_AUTO_TEST_CASE(stream_that_is_just_being_created_is_held_too) {
    hold("new");
    start("new", "2", in_time());
    until_held(1);
    BOOST_TEST(store.publish("b", "1") == 1);

    holder.run("ROLLBACK");
    store.loop.join();
    BOOST_TEST(given == offsets{1}, per_element());
}

BOOST_AUTO_TEST_CASE(publisher_is_refused_at_its_deadline_and_nothing_is_stored) {
    hold("a");
    BOOST_TEST(fails_with(errc::busy, [&] {
        store.loop.await(store.engine().append(one_event("a", "2"), in(milliseconds(300))));
    }));

    holder.run("ROLLBACK");
    BOOST_TEST(store.publish("a", "3") == 1);
    BOOST_TEST(store.read_all("a").events.at(0).payload == "3");
}

BOOST_AUTO_TEST_CASE(those_who_waited_follow_in_their_order) {
    hold("a");
    for (int i = 1; i <= 20; ++i)
        start("a", std::to_string(i), in_time());
    until_held(1);
    holder.run("COMMIT");
    store.loop.join();

    const auto page = store.read_all("a");
    BOOST_TEST_REQUIRE(page.events.size() == 21U);
    BOOST_TEST(page.events[0].payload == "\"held\"");
    for (std::size_t i = 1; i < page.events.size(); ++i)
        BOOST_TEST(page.events[i].payload == std::to_string(i));
}

BOOST_AUTO_TEST_CASE(more_held_streams_than_lanes_do_not_keep_a_free_one_waiting) {
    constexpr int held_long = 6;
    plain_postgres other{database.url()};
    for (int i = 0; i < held_long; ++i) {
        const std::string stream = "long" + std::to_string(i);
        holder.run((i == 0 ? "BEGIN; " : "") + ("SELECT streamld.publish('" + stream + "', '1')"));
        start(stream, "2", in_time());
    }
    other.run("BEGIN; SELECT streamld.publish('short', '1')");
    start("short", "2", in_time());
    until_held(held_long + 1);
    other.run("COMMIT");
    store.loop.until([&] { return !given.empty(); });

    BOOST_TEST(given == offsets{2}, per_element());
    holder.run("COMMIT");
    store.loop.join();
    BOOST_TEST(given.size() == held_long + 1U);
}

BOOST_AUTO_TEST_CASE(holder_is_named_to_the_operator_and_its_end_too) {
    hold("a");
    start("a", "2", in_time());
    until_held(1);
    store.loop.until([&] { return !store.observer.troubles().empty(); });
    BOOST_TEST((store.observer.troubles().front() == errc::busy));

    holder.run("COMMIT");
    store.loop.join();
    store.loop.until([&] { return store.observer.troubles().size() == 2; });
    BOOST_TEST(!store.observer.troubles().back());
}

BOOST_AUTO_TEST_CASE(close_does_not_wait_for_the_holder) {
    hold("a");
    start("a", "2", in(std::chrono::minutes(10)));
    until_held(1);

    store.close(); // Within the loop's time limit, a minute.
    store.loop.join();
    BOOST_TEST(given.empty());
    BOOST_TEST_REQUIRE(refused.size() == 1U);
    BOOST_TEST((refused.front() == errc::busy));
}

BOOST_AUTO_TEST_SUITE_END()
