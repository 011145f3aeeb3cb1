#include "contract/contract_case.hpp"
#include "store/cursor_verdict.hpp"

using streamld::store::errc;
using streamld::store::judge;
using streamld::store::offset_t;
using streamld::store::trim_request;
using streamld::store::verdict;
using streamld::tests::fails_with;
using offsets = std::vector<offset_t>;
using boost::test_tools::per_element;

BOOST_AUTO_TEST_SUITE(contract_trim)

CONTRACT_CASE(boundary_is_exact_for_reads_and_verdicts) {
    store.publish_many("a", 6);

    const auto outcome = store.trim("a", 3);

    BOOST_TEST(outcome.removed == 3);
    BOOST_TEST(outcome.info.bounds.horizon == 3);
    BOOST_TEST(outcome.info.bounds.oldest_available().value() == 4);
    for (const offset_t after : {0, 1, 2, 3})
        BOOST_TEST(store.read_all("a", after).offsets() == (offsets{4, 5, 6}), per_element());
    BOOST_TEST(store.read_all("a", 4).offsets() == (offsets{5, 6}), per_element());
    BOOST_TEST(store.read_all("a", 6).events.empty());
    const auto bounds = store.info("a")->bounds;
    for (const offset_t after : {0, 1, 2})
        BOOST_CHECK(judge(after, "", bounds) == verdict::trimmed);
    for (const offset_t after : {3, 4, 6})
        BOOST_CHECK(judge(after, "", bounds) == verdict::resolvable);
    BOOST_CHECK(judge(7, "", bounds) == verdict::ahead);
}

CONTRACT_CASE(paging_a_trimmed_stream_reaches_the_head) {
    store.publish_many("a", 100);
    store.trim("a", 80);
    offset_t cursor = 0;
    std::size_t seen = 0;

    while (cursor < 100) {
        streamld::store::read_request request;
        request.stream = "a";
        request.after = cursor;
        request.events_max = 10;
        const auto page = store.read(request);
        seen += page.events.size();
        BOOST_REQUIRE(page.scanned > cursor);
        cursor = page.scanned;
    }

    BOOST_TEST(seen == 20U);
}

CONTRACT_CASE(horizon_never_moves_back_nor_past_the_head) {
    store.publish_many("a", 5);

    BOOST_TEST(store.trim("a", 3).removed == 3);
    BOOST_TEST(store.trim("a", 1).removed == 0);
    BOOST_TEST(store.info("a")->bounds.horizon == 3);
    const auto all = store.trim("a", 99);
    BOOST_TEST(all.removed == 2);
    BOOST_TEST(all.info.bounds.horizon == 5);
    BOOST_TEST(!all.info.bounds.oldest_available().has_value());
}

CONTRACT_CASE(numbers_go_on_after_everything_was_trimmed) {
    store.publish_many("a", 5);
    store.trim("a", 5);
    store.reopen();

    BOOST_TEST(store.publish("a", "6") == 6);
    BOOST_TEST(store.read_all("a").offsets() == (offsets{6}), per_element());
}

CONTRACT_CASE(trim_of_an_unknown_stream_is_refused) {
    BOOST_TEST(fails_with(errc::unknown_stream, [&] { store.trim("nowhere", 1); }));
}

CONTRACT_CASE(dry_run_says_and_changes_nothing) {
    store.publish_many("a", 5);
    store.save_offset("a", "behind", 1);
    store.save_offset("a", "level", 3);
    trim_request request;
    request.stream = "a";
    request.through = 3;
    request.dry_run = true;

    const auto outcome = store.trim(request);

    BOOST_TEST(outcome.removed == 3);
    BOOST_TEST(outcome.info.bounds.horizon == 3);
    BOOST_REQUIRE(outcome.consumers_behind.size() == 1U);
    BOOST_TEST(outcome.consumers_behind.front().consumer == "behind");
    BOOST_TEST(outcome.consumers_behind.front().offset == 1);
    BOOST_TEST(store.info("a")->bounds.horizon == 0);
    BOOST_TEST(store.read_all("a").events.size() == 5U);
}

CONTRACT_CASE(guarded_trim_waits_for_the_consumers) {
    store.publish_many("a", 5);
    store.save_offset("a", "c", 2);
    trim_request request;
    request.stream = "a";
    request.through = 3;
    request.guard_consumers = true;

    BOOST_TEST(fails_with(errc::consumers_behind, [&] { store.trim(request); }));
    BOOST_TEST(store.info("a")->bounds.horizon == 0);
    request.through = 2;
    BOOST_TEST(store.trim(request).removed == 2);
}

CONTRACT_CASE(saved_offset_below_the_horizon_stays) {
    store.publish_many("a", 5);
    store.save_offset("a", "c", 1);

    store.trim("a", 4);

    BOOST_TEST(store.get_offset("a", "c") == 1);
    BOOST_TEST(store.read_all("a", 1).offsets() == (offsets{5}), per_element());
    BOOST_TEST(store.save_offset("a", "c", 5).advanced);
}

CONTRACT_CASE(trim_is_not_reported_as_a_publish) {
    store.publish_many("a", 5);
    const auto before = store.observer.calls();

    store.trim("a", 4);
    store.publish("b", "1");

    const auto reports = store.observer.commits();
    BOOST_TEST(store.observer.calls() == before + 1);
    BOOST_TEST(reports.back().stream == "b");
}

CONTRACT_CASE(large_trim_hides_everything_at_once) {
    for (int i = 0; i < 5; ++i)
        store.publish_many("a", 1000);

    store.trim("a", 4990);

    BOOST_TEST(store.read_all("a").events.size() == 10U);
    BOOST_TEST(store.publish("a", "1") == 5001);
}

BOOST_AUTO_TEST_SUITE_END()
