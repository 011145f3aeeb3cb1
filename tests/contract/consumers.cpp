#include "contract/contract_case.hpp"

using streamld::store::errc;
using streamld::store::offset_t;
using streamld::tests::fails_with;
using streamld::tests::in_time;

BOOST_AUTO_TEST_SUITE(contract_consumers)

CONTRACT_CASE(saved_offset_only_rises) {
    store.publish_many("a", 20);

    const auto first = store.save_offset("a", "c", 10);
    const auto lower = store.save_offset("a", "c", 7);
    const auto same = store.save_offset("a", "c", 10);

    BOOST_TEST(first.advanced);
    BOOST_TEST(first.offset == 10);
    BOOST_TEST(!lower.advanced);
    BOOST_TEST(lower.offset == 10);
    BOOST_TEST(!same.advanced);
    BOOST_TEST(store.get_offset("a", "c") == 10);
    BOOST_TEST(store.read_all("a", 10).events.front().offset == 11);
}

CONTRACT_CASE(saves_at_once_end_at_the_highest) {
    store.publish_many("a", 20);
    auto save = [&](offset_t offset) -> boost::asio::awaitable<void> {
        co_await store.engine().save_offset("a", "c", offset, in_time());
    };
    for (const offset_t offset : {12, 11, 20, 3})
        store.loop.start(save(offset));

    store.loop.join();

    BOOST_TEST(store.get_offset("a", "c") == 20);
}

CONTRACT_CASE(offset_beyond_the_head_is_refused_with_the_head) {
    store.publish_many("a", 20);

    BOOST_TEST(fails_with(errc::invalid_cursor, [&] { store.save_offset("a", "c", 21); }));
    BOOST_TEST(fails_with(errc::invalid_cursor, [&] { store.save_offset("a", "c", -1); }));
    try {
        store.save_offset("a", "c", 21);
    } catch (const streamld::store::error& fault) {
        BOOST_TEST(fault.head().value() == 20);
    }
    BOOST_TEST(store.get_offset("a", "c") == 0);
}

CONTRACT_CASE(unknown_stream_has_no_consumers) {
    BOOST_TEST(fails_with(errc::unknown_stream, [&] { store.save_offset("nowhere", "c", 0); }));
    BOOST_TEST(fails_with(errc::unknown_stream, [&] { store.get_offset("nowhere", "c"); }));
    BOOST_TEST(fails_with(errc::unknown_stream, [&] {
        store.loop.await(store.engine().consumers("nowhere", in_time()));
    }));
}

CONTRACT_CASE(never_saved_is_zero) {
    store.publish("a", "1");

    BOOST_TEST(store.get_offset("a", "c") == 0);
}

CONTRACT_CASE(consumers_are_listed_by_name_and_forgotten) {
    store.publish_many("a", 5);
    store.publish_many("b", 5);
    store.save_offset("a", "y", 2);
    store.save_offset("a", "x", 3);
    store.save_offset("b", "z", 1);

    const auto before = store.loop.await(store.engine().consumers("a", in_time()));
    store.loop.await(store.engine().forget_consumer("a", "y", in_time()));
    store.loop.await(store.engine().forget_consumer("a", "y", in_time()));
    const auto after = store.loop.await(store.engine().consumers("a", in_time()));

    BOOST_REQUIRE(before.size() == 2U);
    BOOST_TEST(before[0].consumer == "x");
    BOOST_TEST(before[0].offset == 3);
    BOOST_TEST(before[1].consumer == "y");
    BOOST_REQUIRE(after.size() == 1U);
    BOOST_TEST(after[0].consumer == "x");
    BOOST_TEST(store.get_offset("a", "y") == 0);
}

CONTRACT_CASE(consumer_that_saves_zero_is_on_record) {
    store.publish("a", "1");

    BOOST_TEST(!store.save_offset("a", "c", 0).advanced);

    BOOST_TEST(store.loop.await(store.engine().consumers("a", in_time())).size() == 1U);
}

BOOST_AUTO_TEST_SUITE_END()
