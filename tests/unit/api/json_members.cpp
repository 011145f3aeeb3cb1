#include "api/json_members.hpp"

#include <boost/test/unit_test.hpp>

using streamld::api::read_members;
using streamld::api::string_value;

BOOST_AUTO_TEST_SUITE(api_json_members)

BOOST_AUTO_TEST_CASE(values_keep_their_spelling) {
    const auto members =
        read_members(R"( { "a" : 1.0e+5 , "b":{"c":[1, "}]\""]}, "d":null,"e": "x\"y" } )");

    BOOST_REQUIRE(members);
    BOOST_REQUIRE_EQUAL(members->size(), 4U);
    BOOST_TEST((*members)[0].raw == "1.0e+5");
    BOOST_TEST((*members)[1].raw == R"({"c":[1, "}]\""]})");
    BOOST_TEST((*members)[2].raw == "null");
    BOOST_TEST((*members)[3].raw == R"("x\"y")");
}

BOOST_AUTO_TEST_CASE(an_empty_object_has_none) {
    const auto members = read_members("{ }");

    BOOST_REQUIRE(members);
    BOOST_TEST(members->empty());
}

BOOST_AUTO_TEST_CASE(a_number_ends_with_the_object) {
    const auto members = read_members(R"({"after":12})");

    BOOST_REQUIRE(members);
    BOOST_TEST(members->front().raw == "12");
}

BOOST_AUTO_TEST_CASE(a_name_that_stands_twice_is_refused_however_it_is_spelled) {
    BOOST_TEST(!read_members(R"({"a":1,"a":2})"));
    BOOST_TEST(!read_members(R"({"a":1,"\u0061":2})"));
}

BOOST_AUTO_TEST_CASE(strings_are_decoded_once) {
    BOOST_TEST(string_value(R"("caf\u00e9")").value() == "caf\xc3\xa9");
    BOOST_TEST(string_value(R"("a\\u0041")").value() == "a\\u0041");
    BOOST_TEST(!string_value("12"));
    BOOST_TEST(!string_value(R"("\ud800")"));
}

BOOST_AUTO_TEST_SUITE_END()
