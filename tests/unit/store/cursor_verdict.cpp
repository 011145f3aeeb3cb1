#include "store/cursor_verdict.hpp"

#include <boost/test/unit_test.hpp>

using streamld::store::judge;
using streamld::store::offset_t;
using streamld::store::stream_bounds;
using streamld::store::verdict;

namespace {

stream_bounds bounds_of(offset_t horizon, offset_t head) {
    stream_bounds bounds;
    bounds.exists = true;
    bounds.epoch = "0123456789abcdef";
    bounds.horizon = horizon;
    bounds.head = head;
    return bounds;
}

} // namespace

BOOST_AUTO_TEST_SUITE(store_cursor_verdict)

BOOST_AUTO_TEST_CASE(resolvable_from_horizon_to_head) {
    const auto bounds = bounds_of(3, 6);

    for (const offset_t after : {0, 1, 2})
        BOOST_CHECK(judge(after, "", bounds) == verdict::trimmed);
    for (const offset_t after : {3, 4, 5, 6})
        BOOST_CHECK(judge(after, "", bounds) == verdict::resolvable);
    BOOST_CHECK(judge(7, "", bounds) == verdict::ahead);
    BOOST_CHECK(judge(streamld::store::offset_max, "", bounds) == verdict::ahead);
}

BOOST_AUTO_TEST_CASE(epoch_is_judged_first) {
    const auto bounds = bounds_of(3, 6);

    BOOST_CHECK(judge(0, "ffffffffffffffff", bounds) == verdict::foreign);
    BOOST_CHECK(judge(9, "ffffffffffffffff", bounds) == verdict::foreign);
    BOOST_CHECK(judge(4, "0123456789abcdef", bounds) == verdict::resolvable);
}

BOOST_AUTO_TEST_CASE(stream_that_does_not_exist_is_at_zero) {
    const stream_bounds none;

    BOOST_CHECK(judge(0, "", none) == verdict::resolvable);
    BOOST_CHECK(judge(1, "", none) == verdict::ahead);
    BOOST_CHECK(judge(0, "0123456789abcdef", none) == verdict::foreign);
}

BOOST_AUTO_TEST_CASE(oldest_available_is_absent_where_nothing_is_left) {
    BOOST_TEST(bounds_of(3, 6).oldest_available().value() == 4);
    BOOST_TEST(!bounds_of(6, 6).oldest_available().has_value());
    BOOST_TEST(!bounds_of(0, 0).oldest_available().has_value());
}

BOOST_AUTO_TEST_SUITE_END()
