#include "contract/contract_case.hpp"

#include <ctime>
#include <limits>

using streamld::store::append_request;
using streamld::store::errc;
using streamld::store::offset_t;
using streamld::tests::fails_with;
using streamld::tests::one_event;

BOOST_AUTO_TEST_SUITE(contract_publish)

CONTRACT_CASE(numbers_are_dense_from_one_in_each_stream) {
    for (offset_t expected = 1; expected <= 5; ++expected) {
        BOOST_TEST(store.publish("a", "1") == expected);
        BOOST_TEST(store.publish("b", "1") == expected);
    }

    BOOST_TEST(
        store.read_all("a").offsets() == (std::vector<offset_t>{1, 2, 3, 4, 5}),
        boost::test_tools::per_element()
    );
}

CONTRACT_CASE(batch_gets_consecutive_numbers) {
    store.publish("a", "0");
    append_request batch;
    batch.stream = "a";
    for (int i = 0; i < 2000; ++i)
        batch.events.emplace_back(std::to_string(i));

    const auto outcome = store.append(std::move(batch));

    BOOST_TEST(outcome.first == 2);
    BOOST_TEST(outcome.last == 2001);
    BOOST_TEST(store.read_all("a").events.size() == 2001U);
}

CONTRACT_CASE(batch_with_one_bad_event_stores_nothing) {
    append_request batch;
    batch.stream = "a";
    batch.events.emplace_back("1");
    batch.events.emplace_back("{");

    BOOST_TEST(fails_with(errc::invalid_payload, [&] { store.append(std::move(batch)); }));

    BOOST_TEST(!store.info("a").has_value());
}

CONTRACT_CASE(publish_without_an_event_is_refused) {
    append_request empty;
    empty.stream = "a";

    BOOST_TEST(fails_with(errc::invalid_payload, [&] { store.append(std::move(empty)); }));
}

CONTRACT_CASE(event_is_read_back_whole) {
    const auto before = std::time(nullptr);
    auto request = one_event("a", R"({"x":1})");
    request.content_type = "application/vnd.x+json";
    request.events.front().key = "customer/7";
    request.events.front().is_snapshot = true;

    const auto outcome = store.append(std::move(request));

    const auto page = store.read_all("a");
    BOOST_REQUIRE(page.events.size() == 1U);
    const auto& event = page.events.front();
    BOOST_TEST(event.offset == 1);
    BOOST_TEST(event.payload == R"({"x":1})");
    BOOST_TEST(event.key.value() == "customer/7");
    BOOST_TEST(event.content_type == "application/vnd.x+json");
    BOOST_TEST(event.is_snapshot);
    BOOST_TEST(event.is_checked);
    BOOST_TEST(event.created_at == outcome.created_at);
    BOOST_TEST(event.created_at >= before);
    BOOST_TEST(event.created_at <= std::time(nullptr));
}

CONTRACT_CASE(expected_head_is_compared_under_the_lock) {
    auto first = one_event("a", "1");
    first.expected_head = 0;
    BOOST_TEST(store.append(first).first == 1);

    BOOST_TEST(fails_with(errc::precondition, [&] { store.append(first); }));
    try {
        store.append(first);
    } catch (const streamld::store::error& fault) {
        BOOST_TEST(fault.head().value() == 1);
    }
    first.expected_head = 1;
    BOOST_TEST(store.append(first).first == 2);
}

CONTRACT_CASE(refused_publish_does_not_create_the_stream) {
    auto request = one_event("a", "1");
    request.expected_head = 3;

    BOOST_TEST(fails_with(errc::precondition, [&] { store.append(std::move(request)); }));

    BOOST_TEST(!store.info("a").has_value());
}

CONTRACT_CASE(of_many_with_one_expected_head_exactly_one_wins) {
    int won = 0;
    int lost = 0;
    auto publisher = [&]() -> boost::asio::awaitable<void> {
        auto request = one_event("a", "1");
        request.expected_head = 0;
        try {
            co_await store.engine().append(std::move(request), streamld::tests::in_time());
            ++won;
        } catch (const streamld::store::error& fault) {
            if (fault.which() == errc::precondition) ++lost;
        }
    };
    for (int i = 0; i < 50; ++i)
        store.loop.start(publisher());

    store.loop.join();

    BOOST_TEST(won == 1);
    BOOST_TEST(lost == 49);
    BOOST_TEST(store.read_all("a").events.size() == 1U);
}

CONTRACT_CASE(create_is_idempotent_and_keeps_the_epoch) {
    const auto first = store.loop.await(store.engine().create("a", streamld::tests::in_time()));
    store.publish("a", "1");
    const auto second = store.loop.await(store.engine().create("a", streamld::tests::in_time()));

    BOOST_TEST(first.is_new);
    BOOST_TEST(first.info.bounds.head == 0);
    BOOST_TEST(!first.info.last_event_at.has_value());
    BOOST_TEST(first.info.bounds.epoch.size() == 16U);
    BOOST_TEST(first.info.bounds.epoch.find_first_not_of("0123456789abcdef") == std::string::npos);
    BOOST_TEST(!second.is_new);
    BOOST_TEST(second.info.bounds.epoch == first.info.bounds.epoch);
    BOOST_TEST(second.info.bounds.head == 1);
}

CONTRACT_CASE(epochs_of_streams_differ) {
    store.publish("a", "1");
    store.publish("b", "1");

    BOOST_TEST(store.info("a")->bounds.epoch != store.info("b")->bounds.epoch);
}

CONTRACT_CASE(publish_whose_deadline_has_passed_stores_nothing) {
    const auto past = std::chrono::steady_clock::now() - std::chrono::seconds(1);

    BOOST_TEST(fails_with(errc::busy, [&] {
        store.loop.await(store.engine().append(one_event("a", "1"), past));
    }));

    BOOST_TEST(!store.info("a").has_value());
}

CONTRACT_CASE(streams_are_listed_in_byte_order) {
    for (const char* name : {"b", "a", "B", "ab", "\xC3\xA9", "a/b"})
        store.publish(name, "1");
    const auto names = [&](const std::string& prefix, const std::string& after, std::size_t limit) {
        std::vector<std::string> found;
        for (const auto& info : store.loop.await(
                 store.engine().streams(prefix, after, limit, streamld::tests::in_time())
             ))
            found.push_back(info.stream);
        return found;
    };

    BOOST_TEST(
        names("", "", 100) == (std::vector<std::string>{"B", "a", "a/b", "ab", "b", "\xC3\xA9"}),
        boost::test_tools::per_element()
    );
    BOOST_TEST(
        names("a", "", 100) == (std::vector<std::string>{"a", "a/b", "ab"}),
        boost::test_tools::per_element()
    );
    BOOST_TEST(
        names("a", "a", 1) == (std::vector<std::string>{"a/b"}), boost::test_tools::per_element()
    );
    BOOST_TEST(names("zz", "", 100).empty());
}

CONTRACT_CASE(probe_succeeds_on_a_store_that_can_be_written) {
    store.loop.await(store.engine().probe(streamld::tests::in_time()));
    store.publish("a", "1");
    store.loop.await(store.engine().probe(streamld::tests::in_time()));
}

CONTRACT_CASE(operations_after_close_are_refused) {
    store.loop.await(store.engine().close());

    BOOST_TEST(fails_with(errc::closed, [&] { store.publish("a", "1"); }));
    BOOST_TEST(fails_with(errc::closed, [&] { store.read_all("a"); }));
}

CONTRACT_CASE(everything_survives_a_reopen) {
    store.publish_many("a", 10);
    store.publish_key("a", "k", "11");
    store.trim("a", 3);
    store.save_offset("a", "c", 7);
    const auto before = store.info("a").value();

    store.reopen();

    const auto after = store.info("a").value();
    BOOST_TEST(after.bounds.epoch == before.bounds.epoch);
    BOOST_TEST(after.bounds.head == 11);
    BOOST_TEST(after.bounds.horizon == 3);
    BOOST_TEST(after.created_at == before.created_at);
    BOOST_TEST(store.get_offset("a", "c") == 7);
    BOOST_TEST(store.read_all("a").events.size() == 8U);
    BOOST_TEST(store.publish("a", "12") == 12);
}

BOOST_AUTO_TEST_SUITE_END()
