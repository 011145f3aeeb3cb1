#include "hub/stream_tail.hpp"

#include <boost/test/unit_test.hpp>

using streamld::block_builder;
using streamld::block_ptr;
using streamld::offset_t;
using streamld::stream_tail;
using streamld::tail_change;
using streamld::wire_format;

namespace {

block_ptr block_of(offset_t first, offset_t last) {
    block_builder builder{"s", "", wire_format{}};
    for (offset_t offset = first; offset <= last; ++offset) {
        streamld::store::event_view event;
        event.offset = offset;
        event.payload = "1";
        builder.add(event);
    }
    return builder.finish({});
}

struct fixture {
    stream_tail tail{"s", wire_format{}};
};

} // namespace

BOOST_TEST_DONT_PRINT_LOG_VALUE(streamld::tail_change)

BOOST_FIXTURE_TEST_SUITE(hub_stream_tail, fixture)

BOOST_AUTO_TEST_CASE(an_unplaced_tail_begins_with_the_first_block) {
    BOOST_TEST((tail.extend(block_of(41, 45)) == tail_change::extended));

    BOOST_TEST(tail.view().first == 41);
    BOOST_TEST(tail.view().last == 45);
}

BOOST_AUTO_TEST_CASE(only_what_follows_its_end_is_taken) {
    tail.place(40);

    BOOST_TEST((tail.extend(block_of(42, 43)) == tail_change::hole));
    BOOST_TEST((tail.extend(block_of(41, 41)) == tail_change::extended));
    BOOST_TEST((tail.extend(block_of(41, 41)) == tail_change::known));
    BOOST_TEST((tail.extend(block_of(41, 43)) == tail_change::hole)
    ); // Overlaps: order is never guessed.
    BOOST_TEST((tail.extend(block_of(42, 43)) == tail_change::extended));
    BOOST_TEST(tail.view().last == 43);
}

BOOST_AUTO_TEST_CASE(a_head_beyond_its_end_is_a_hole) {
    tail.place(40);

    BOOST_TEST((tail.place(41) == tail_change::hole));
    BOOST_TEST((tail.place(39) == tail_change::known));
    BOOST_TEST(tail.view().last == 40);
}

BOOST_AUTO_TEST_CASE(history_fits_only_right_in_front) {
    tail.place(40);
    tail.extend(block_of(41, 42));

    BOOST_TEST(!tail.prepend(block_of(37, 39)));
    BOOST_TEST(tail.prepend(block_of(38, 40)));

    BOOST_TEST(tail.view().first == 38);
}

BOOST_AUTO_TEST_CASE(a_sequence_is_found_in_its_block) {
    tail.extend(block_of(10, 19));
    tail.extend(block_of(20, 20));
    tail.extend(block_of(21, 30));

    for (const offset_t wanted : {10, 15, 19, 20, 21, 30}) {
        const auto [block, index] = tail.find(wanted);
        BOOST_TEST((*block)->sequence(index) == wanted);
    }
}

BOOST_AUTO_TEST_CASE(dropping_the_oldest_gives_its_memory_back) {
    tail.extend(block_of(1, 100));
    tail.extend(block_of(101, 101));
    const std::size_t before = tail.memory();

    const std::size_t freed = tail.drop_oldest();

    BOOST_TEST(tail.memory() == before - freed);
    BOOST_TEST(tail.view().first == 101);
    tail.drop_oldest();
    BOOST_TEST(tail.memory() == 0U);
    BOOST_TEST(tail.view().first == 102);
    BOOST_TEST(tail.view().last == 101);
}

BOOST_AUTO_TEST_SUITE_END()
