#include "api/consumer_save.hpp"

#include "api/problem.hpp"

#include <boost/test/unit_test.hpp>

#include <string>

using streamld::api::problem;
using streamld::api::read_offset_body;

namespace {

std::string slug_of(std::string_view body) {
    try {
        static_cast<void>(read_offset_body(body));
    } catch (const problem& fault) {
        return std::string(fault.slug());
    }
    return {};
}

} // namespace

BOOST_AUTO_TEST_SUITE(api_consumer_save)

BOOST_AUTO_TEST_CASE(the_body_is_one_integer_literal) {
    BOOST_TEST(read_offset_body("{\"offset\":10}") == 10);
    BOOST_TEST(read_offset_body(" { \"offset\" : 0 } ") == 0);
}

BOOST_AUTO_TEST_CASE(other_numbers_are_no_cursors) {
    for (const auto* body :
         {"{\"offset\":-1}",
          "{\"offset\":1.5}",
          "{\"offset\":1.0}",
          "{\"offset\":1e2}",
          "{\"offset\":\"9\"}",
          "{\"offset\":null}",
          "{\"offset\":9007199254740992}"})
        BOOST_TEST(slug_of(body) == "invalid-cursor", body);
}

BOOST_AUTO_TEST_CASE(other_shapes_are_no_payload) {
    for (const auto* body :
         {"",
          "7",
          "[1]",
          "{}",
          "{\"offset\":1,\"x\":2}",
          "{\"offset\":1,\"offset\":2}",
          "{\"offset\":01}"})
        BOOST_TEST(slug_of(body) == "invalid-payload", body);
}

BOOST_AUTO_TEST_SUITE_END()
