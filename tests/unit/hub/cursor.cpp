#include "hub/cursor.hpp"

#include <boost/test/unit_test.hpp>

using streamld::cursor;
using streamld::step;
using streamld::tail_view;

namespace {

constexpr streamld::offset_t for_ever = streamld::store::offset_max;

tail_view tail_of(streamld::offset_t first, streamld::offset_t last) {
    tail_view view;
    view.is_placed = true;
    view.first = first;
    view.last = last;
    return view;
}

tail_view closing(tail_view view) {
    view.is_closing = true;
    return view;
}

} // namespace

BOOST_TEST_DONT_PRINT_LOG_VALUE(streamld::step)

BOOST_AUTO_TEST_SUITE(hub_cursor)

BOOST_AUTO_TEST_CASE(a_tail_that_knows_nothing_sends_the_cursor_to_the_store) {
    BOOST_TEST((cursor{0, for_ever}.next(tail_view{}) == step::read_page));
}

BOOST_AUTO_TEST_CASE(inside_the_tail_frames_are_sent) {
    BOOST_TEST((cursor{10, for_ever}.next(tail_of(11, 20)) == step::send_frames)
    ); // The first frame of the tail.
    BOOST_TEST((cursor{19, for_ever}.next(tail_of(11, 20)) == step::send_frames)); // The last one.
}

BOOST_AUTO_TEST_CASE(one_before_the_tail_is_catch_up) {
    BOOST_TEST((cursor{9, for_ever}.next(tail_of(11, 20)) == step::read_page));
    BOOST_TEST((cursor{9, for_ever}.next(tail_of(11, 10)) == step::read_page)
    ); // An empty tail behind 10.
}

BOOST_AUTO_TEST_CASE(at_the_end_it_waits) {
    BOOST_TEST((cursor{20, for_ever}.next(tail_of(11, 20)) == step::wait_for_more));
    BOOST_TEST((cursor{10, for_ever}.next(tail_of(11, 10)) == step::wait_for_more));
}

BOOST_AUTO_TEST_CASE(ahead_of_what_the_tail_knows_it_waits_for_the_tail) {
    BOOST_TEST((cursor{25, for_ever}.next(tail_of(11, 20)) == step::wait_for_more));
}

BOOST_AUTO_TEST_CASE(a_range_finishes_at_its_end_only) {
    BOOST_TEST((cursor{15, 15}.next(tail_of(11, 20)) == step::finish));
    BOOST_TEST((cursor{14, 15}.next(tail_of(11, 20)) == step::send_frames));
    BOOST_TEST((cursor{20, 22}.next(tail_of(11, 20)) == step::wait_for_more)
    ); // The tail is still behind the range.
}

BOOST_AUTO_TEST_CASE(a_closing_tail_gives_what_it_has_and_no_history) {
    BOOST_TEST((cursor{15, for_ever}.next(closing(tail_of(11, 20))) == step::send_frames));
    BOOST_TEST((cursor{20, for_ever}.next(closing(tail_of(11, 20))) == step::finish));
    BOOST_TEST((cursor{5, for_ever}.next(closing(tail_of(11, 20))) == step::finish));
}

BOOST_AUTO_TEST_CASE(it_only_moves_forward) {
    cursor position{10, for_ever};

    position.advance(12);
    position.advance(11);

    BOOST_TEST(position.position() == 12);
}

BOOST_AUTO_TEST_SUITE_END()
