// What a notification says; anybody may send one.

#include "store/postgres/notifier.hpp"

#include <boost/test/unit_test.hpp>

#include <string>

using streamld::store::postgres::hint;
using streamld::store::postgres::read_hint;

BOOST_AUTO_TEST_SUITE(store_postgres_notifier)

BOOST_AUTO_TEST_CASE(lines_name_streams_and_their_heads) {
    const hint read = read_hint("7 orders\n12 a name with spaces 3");

    BOOST_TEST(!read.is_look);
    BOOST_TEST_REQUIRE(read.streams.size() == 2U);
    BOOST_TEST(read.streams[0].stream == "orders");
    BOOST_TEST(read.streams[0].head == 7);
    BOOST_TEST(read.streams[1].stream == "a name with spaces 3");
    BOOST_TEST(read.streams[1].head == 12);
}

BOOST_AUTO_TEST_CASE(question_is_a_nonce_and_no_stream) {
    const hint read = read_hint("? 17.4");

    BOOST_TEST(read.nonce == "17.4");
    BOOST_TEST(!read.is_look);
    BOOST_TEST(read.streams.empty());
}

BOOST_AUTO_TEST_CASE(what_is_not_understood_means_look) {
    for (const char* payload :
         {"",
          "*",
          "orders",
          "7",
          "7 ",
          "-1 orders",
          "0 orders",
          "7x orders",
          " orders",
          "99999999999999999999 orders",
          "\n\n"}) {
        const hint read = read_hint(payload);
        BOOST_TEST(read.is_look, payload);
        BOOST_TEST(read.streams.empty(), payload);
    }
}

BOOST_AUTO_TEST_CASE(one_bad_line_does_not_hide_the_good_ones) {
    const hint read = read_hint("garbage\n7 orders");

    BOOST_TEST(read.is_look);
    BOOST_TEST(read.streams.size() == 1U);
}

BOOST_AUTO_TEST_SUITE_END()
