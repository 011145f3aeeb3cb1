#include "api/event_stream_start.hpp"

#include <boost/test/unit_test.hpp>

using streamld::api::parse_event_id;
using streamld::api::parse_event_ids;

BOOST_AUTO_TEST_SUITE(api_event_stream_start)

BOOST_AUTO_TEST_CASE(an_id_is_a_position_perhaps_with_an_epoch) {
    BOOST_TEST(parse_event_id("41").value().after == 41);
    BOOST_TEST(parse_event_id("41").value().epoch == "");
    BOOST_TEST(parse_event_id("0.0123456789abcdef").value().epoch == "0123456789abcdef");
}

BOOST_AUTO_TEST_CASE(what_this_server_never_gave_is_no_id) {
    for (const char* text :
         {"",
          "abc",
          "urn:uuid:1",
          "5.0",
          "+5",
          "-1",
          " 5",
          "05",
          "18446744073709551616",
          "9007199254740992",
          "4.0123456789ABCDEF",
          "4.",
          ".0123456789abcdef"})
        BOOST_TEST(!parse_event_id(text), text);
}

BOOST_AUTO_TEST_CASE(an_id_over_several_streams_names_each) {
    const auto ids = parse_event_ids("a=41&b%26c=7.0123456789abcdef&d+e=0");

    BOOST_REQUIRE(ids);
    BOOST_TEST(ids->size() == 3U);
    BOOST_TEST(ids->at("a").after == 41);
    BOOST_TEST(ids->at("b&c").epoch == "0123456789abcdef");
    BOOST_TEST(ids->at("d e").after == 0);
}

BOOST_AUTO_TEST_CASE(one_bad_part_spoils_the_id) {
    for (const char* text : {"41", "a=41&b", "a=41&b=x", "a=1&a=2", "a%zz=1", "a=41&&b=2"})
        BOOST_TEST(!parse_event_ids(text), text);
}

BOOST_AUTO_TEST_SUITE_END()
