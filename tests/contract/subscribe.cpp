#include "contract/contract_case.hpp"
#include "store/store.hpp"

#include <map>
#include <memory>

using boost::asio::awaitable;
using streamld::store::errc;
using streamld::store::event_store;
using streamld::store::offset_t;
using streamld::tests::engines;
using streamld::tests::fails_with;
using streamld::tests::run_loop;

// Not anonymous: GCC warns of data-driven cases that capture a type without linkage.
namespace streamld::tests::subscribing {

constexpr std::chrono::seconds long_enough{20};

struct opened_store {
    explicit opened_store(const streamld::tests::engine_under_test& engine)
        : storage(engine.make_storage()), store(event_store::open(storage->url())) {}

    opened_store(const opened_store&) = delete;
    opened_store& operator=(const opened_store&) = delete;

    ~opened_store() { loop.await(store->close()); }

    std::unique_ptr<streamld::tests::test_storage> storage;
    std::unique_ptr<event_store> store;
    run_loop loop;
};

std::vector<offset_t> offsets_of(const std::vector<streamld::store::stream_event>& events) {
    std::vector<offset_t> found;
    for (const auto& event : events)
        found.push_back(event.offset);
    return found;
}

// co_spawn needs a result that can be made empty, which a subscription cannot.
awaitable<std::unique_ptr<streamld::store::subscription>>
boxed(streamld::store::stream& from, std::optional<offset_t> after) {
    auto made = co_await from.subscribe(after);
    co_return std::make_unique<streamld::store::subscription>(std::move(made));
}

std::unique_ptr<streamld::store::subscription>
subscribe(opened_store& opened, streamld::store::stream& from, std::optional<offset_t> after = {}) {
    return opened.loop.await(boxed(from, after));
}

} // namespace streamld::tests::subscribing

using streamld::tests::subscribing::long_enough;
using streamld::tests::subscribing::offsets_of;
using streamld::tests::subscribing::opened_store;
using streamld::tests::subscribing::subscribe;

BOOST_AUTO_TEST_SUITE(contract_subscribe)

BOOST_DATA_TEST_CASE(live_subscription_gets_what_is_published_after_it, engines(), engine) {
    opened_store opened(engine);
    auto orders = opened.store->stream_named("orders");
    opened.loop.await(orders.publish("1"));
    auto reader = subscribe(opened, orders);
    std::vector<streamld::store::stream_event> got;
    auto read = [&]() -> awaitable<void> { got = co_await reader->next(long_enough); };
    opened.loop.start(read());

    opened.loop.await(orders.publish_with_key("k", R"({"n":7})"));
    opened.loop.join();

    BOOST_REQUIRE(got.size() == 1U);
    BOOST_TEST(got.front().offset == 2);
    BOOST_TEST(got.front().stream == "orders");
    BOOST_TEST(got.front().key.value() == "k");
    BOOST_TEST((got.front().payload_as<std::map<std::string, int>>().at("n") == 7));
    BOOST_TEST(reader->cursor() == 2);
}

BOOST_DATA_TEST_CASE(subscription_from_zero_replays_then_goes_live, engines(), engine) {
    opened_store opened(engine);
    auto orders = opened.store->stream_named("orders");
    for (int i = 0; i < 3; ++i)
        opened.loop.await(orders.publish("1"));
    auto reader = subscribe(opened, orders, 0);

    const auto replayed = opened.loop.await(reader->next(long_enough));
    opened.loop.await(orders.publish("1"));
    const auto live = opened.loop.await(reader->next(long_enough));
    const auto nothing = opened.loop.await(reader->next(std::chrono::milliseconds(1)));

    BOOST_TEST(
        offsets_of(replayed) == (std::vector<offset_t>{1, 2, 3}), boost::test_tools::per_element()
    );
    BOOST_TEST(offsets_of(live) == (std::vector<offset_t>{4}), boost::test_tools::per_element());
    BOOST_TEST(nothing.empty());
}

BOOST_DATA_TEST_CASE(stream_need_not_exist_yet, engines(), engine) {
    opened_store opened(engine);
    auto later = opened.store->stream_named("later");
    auto reader = subscribe(opened, later);
    std::vector<streamld::store::stream_event> got;
    auto read = [&]() -> awaitable<void> { got = co_await reader->next(long_enough); };
    opened.loop.start(read());

    opened.loop.await(later.publish("1"));
    opened.loop.join();

    BOOST_TEST(offsets_of(got) == (std::vector<offset_t>{1}), boost::test_tools::per_element());
}

BOOST_DATA_TEST_CASE(trim_in_the_middle_keeps_the_place_of_who_is_past_it, engines(), engine) {
    opened_store opened(engine);
    auto orders = opened.store->stream_named("orders");
    for (int i = 0; i < 6; ++i)
        opened.loop.await(orders.publish("1"));
    auto past = subscribe(opened, orders, 4);
    auto overtaken = subscribe(opened, orders, 1);

    opened.loop.await(orders.trim_to(4));
    const auto got = opened.loop.await(past->next(long_enough));

    BOOST_TEST(offsets_of(got) == (std::vector<offset_t>{5, 6}), boost::test_tools::per_element());
    BOOST_TEST(fails_with(errc::invalid_cursor, [&] {
        opened.loop.await(overtaken->next(long_enough));
    }));
}

BOOST_DATA_TEST_CASE(cursor_ahead_of_the_head_is_told, engines(), engine) {
    opened_store opened(engine);
    auto orders = opened.store->stream_named("orders");
    opened.loop.await(orders.publish("1"));
    auto ahead = subscribe(opened, orders, 9);

    BOOST_TEST(fails_with(errc::invalid_cursor, [&] {
        opened.loop.await(ahead->next(long_enough));
    }));
}

BOOST_DATA_TEST_CASE(facade_reads_from_a_consumer_and_checks_names, engines(), engine) {
    opened_store opened(engine);
    auto orders = opened.store->stream_named("orders");
    for (int i = 0; i < 5; ++i)
        opened.loop.await(orders.publish(std::to_string(i)));
    opened.loop.await(orders.save_offset("c", 3));

    const auto rest = opened.loop.await(orders.read_from_consumer("c", 10));

    BOOST_TEST(offsets_of(rest) == (std::vector<offset_t>{4, 5}), boost::test_tools::per_element());
    BOOST_TEST(opened.loop.await(orders.read_since(0, 2)).size() == 2U);
    BOOST_TEST(fails_with(errc::invalid_name, [&] {
        [[maybe_unused]] auto bad = opened.store->stream_named("..");
    }));
    BOOST_TEST(fails_with(errc::codec, [&] {
        [[maybe_unused]] auto bad = rest.front().payload_as<std::string>();
    }));
    BOOST_TEST(opened.loop.await(opened.store->streams("", "", 10)).size() == 1U);
}

BOOST_AUTO_TEST_SUITE_END()
