#include "contract/contract_case.hpp"

using streamld::store::errc;
using streamld::store::offset_t;
using streamld::store::read_request;
using streamld::store::start_kind;
using streamld::tests::fails_with;
using offsets = std::vector<offset_t>;
using boost::test_tools::per_element;

namespace {

read_request page_of(const std::string& stream, offset_t after, std::size_t events_max) {
    read_request request;
    request.stream = stream;
    request.after = after;
    request.events_max = events_max;
    return request;
}

} // namespace

BOOST_AUTO_TEST_SUITE(contract_read)

CONTRACT_CASE(pages_meet_without_hole_or_repetition) {
    store.publish_many("a", 25);

    for (const std::size_t size : {1U, 2U, 5U, 24U, 25U, 26U}) {
        offset_t cursor = 0;
        offset_t expected = 0;
        while (cursor < 25) {
            const auto page = store.read(page_of("a", cursor, size));
            for (const auto& event : page.events)
                BOOST_REQUIRE(event.offset == ++expected);
            BOOST_REQUIRE(page.scanned == page.events.back().offset);
            cursor = page.scanned;
        }
        BOOST_TEST(expected == 25);
    }
}

CONTRACT_CASE(page_that_ends_exactly_at_the_head_is_finished) {
    store.publish_many("a", 4);

    const auto full = store.read(page_of("a", 0, 4));
    const auto behind = store.read(page_of("a", 4, 4));

    BOOST_TEST(full.scanned == 4);
    BOOST_TEST(behind.events.empty());
    BOOST_TEST(behind.scanned == 4);
}

CONTRACT_CASE(page_ends_behind_the_event_that_reaches_the_bytes) {
    for (int i = 0; i < 10; ++i)
        store.publish("a", "\"" + std::string(98, 'x') + "\"");
    auto request = page_of("a", 0, 100);
    request.bytes_max = 250;

    const auto page = store.read(request);

    BOOST_TEST(page.events.size() == 3U);
    BOOST_TEST(page.scanned == 3);
}

CONTRACT_CASE(through_bounds_the_page) {
    store.publish_many("a", 10);
    auto request = page_of("a", 2, 100);
    request.through = 5;

    const auto page = store.read(request);

    BOOST_TEST(page.offsets() == (offsets{3, 4, 5}), per_element());
    BOOST_TEST(page.scanned == 5);
    BOOST_TEST(page.bounds.head == 10);
}

CONTRACT_CASE(read_beyond_the_head_is_empty) {
    store.publish_many("a", 3);

    const auto page = store.read_all("a", 7);

    BOOST_TEST(page.events.empty());
    BOOST_TEST(page.scanned == 7);
    BOOST_TEST(page.bounds.head == 3);
}

CONTRACT_CASE(read_of_an_unknown_stream_says_so) {
    const auto page = store.read_all("nowhere", 5);

    BOOST_TEST(!page.bounds.exists);
    BOOST_TEST(page.bounds.epoch.empty());
    BOOST_TEST(page.events.empty());
}

CONTRACT_CASE(cursor_out_of_range_is_refused) {
    BOOST_TEST(fails_with(errc::invalid_cursor, [&] { store.read_all("a", -1); }));
    BOOST_TEST(fails_with(errc::invalid_cursor, [&] {
        store.read_all("a", streamld::store::offset_max + 1);
    }));
}

CONTRACT_CASE(read_of_one_key_finds_all_of_it_and_scans_on) {
    for (int i = 0; i < 9; ++i)
        store.publish_key("a", i % 3 == 0 ? "x" : "y", std::to_string(i));
    store.publish_key("b", "x", "1");
    auto request = page_of("a", 0, 2);
    request.key = "x";

    const auto first = store.read(request);
    request.after = first.scanned;
    const auto second = store.read(request);
    request.events_max = 3;
    request.after = 0;
    const auto exact = store.read(request);
    request.key = "z";
    const auto none = store.read(request);

    BOOST_TEST(first.offsets() == (offsets{1, 4}), per_element());
    BOOST_TEST(first.scanned == 4);
    BOOST_TEST(second.offsets() == (offsets{7}), per_element());
    BOOST_TEST(second.scanned == 9);
    BOOST_TEST(exact.scanned == 9);
    BOOST_TEST(none.events.empty());
    BOOST_TEST(none.scanned == 9);
}

CONTRACT_CASE(keyed_and_plain_events_keep_one_order) {
    store.publish("a", "1");
    store.publish_key("a", "k", "2");
    store.publish("a", "3");

    const auto page = store.read_all("a");

    BOOST_TEST(page.offsets() == (offsets{1, 2, 3}), per_element());
    BOOST_TEST(!page.events[0].key.has_value());
    BOOST_TEST(page.events[1].key.value() == "k");
    BOOST_TEST(!page.events[2].key.has_value());
}

// ---------------------------------------------------------------- where a reader begins

CONTRACT_CASE(live_begins_at_the_head_and_oldest_before_the_oldest) {
    store.publish_many("a", 6);
    store.trim("a", 2);

    BOOST_TEST(store.locate("a", start_kind::live).after == 6);
    BOOST_TEST(store.locate("a", start_kind::oldest).after == 2);
    BOOST_TEST(store.locate("a", start_kind::after, 4).after == 4);
    BOOST_TEST(store.locate("a", start_kind::live).info.bounds.head == 6);
}

CONTRACT_CASE(last_counts_surviving_events) {
    store.publish_many("a", 6);
    store.trim("a", 2);

    BOOST_TEST(store.locate("a", start_kind::last, 1).after == 5);
    BOOST_TEST(store.locate("a", start_kind::last, 4).after == 2);
    BOOST_TEST(store.locate("a", start_kind::last, 99).after == 2);
    BOOST_TEST(store.locate("a", start_kind::last, 0).after == 6);
}

CONTRACT_CASE(last_with_a_key_counts_its_events) {
    for (int i = 0; i < 9; ++i)
        store.publish_key("a", i % 3 == 0 ? "x" : "y", std::to_string(i)); // x: 1, 4, 7

    BOOST_TEST(store.locate("a", start_kind::last, 1, "x").after == 6);
    BOOST_TEST(store.locate("a", start_kind::last, 2, "x").after == 3);
    BOOST_TEST(store.locate("a", start_kind::last, 3, "x").after == 0);
    BOOST_TEST(store.locate("a", start_kind::last, 9, "x").after == 0);
}

CONTRACT_CASE(snapshot_begins_before_the_newest_surviving_one) {
    for (int i = 1; i <= 6; ++i) {
        auto request = streamld::tests::one_event("a", std::to_string(i));
        request.events.front().is_snapshot = i == 2 || i == 4;
        store.append(std::move(request));
    }

    BOOST_TEST(store.locate("a", start_kind::snapshot).after == 3);
    store.trim("a", 4);
    BOOST_TEST(store.locate("a", start_kind::snapshot).after == 4);
}

CONTRACT_CASE(consumer_begins_at_its_saved_offset) {
    store.publish_many("a", 6);
    store.save_offset("a", "c", 4);

    BOOST_TEST(store.locate("a", start_kind::consumer, 0, "", "c").after == 4);
    BOOST_TEST(store.locate("a", start_kind::consumer, 0, "", "never").after == 0);
}

CONTRACT_CASE(unknown_stream_begins_at_zero) {
    const auto found = store.locate("nowhere", start_kind::live);

    BOOST_TEST(!found.info.bounds.exists);
    BOOST_TEST(found.after == 0);
    BOOST_TEST(store.locate("nowhere", start_kind::after, 5).after == 5);
}

BOOST_AUTO_TEST_SUITE_END()
