#include "api/routes.hpp"

#include "api/problem.hpp"

#include <boost/test/unit_test.hpp>

#include <string>

using streamld::api::find_route;
using streamld::api::problem;

namespace {

std::string slug_of(std::string_view path) {
    try {
        static_cast<void>(find_route("GET", path));
    } catch (const problem& fault) {
        return std::string(fault.slug());
    }
    return {};
}

std::string name_in(const std::string& segment) {
    return find_route("GET", "/streams/" + segment).names.at(0);
}

} // namespace

BOOST_AUTO_TEST_SUITE(api_routes)

BOOST_AUTO_TEST_CASE(names_are_one_segment_decoded_once) {
    BOOST_TEST(name_in("a%2Fb") == "a/b");
    BOOST_TEST(name_in("a%252Fb") == "a%2Fb");
    BOOST_TEST(name_in("a+b") == "a+b");
    BOOST_TEST(name_in("100%25") == "100%");
    BOOST_TEST(name_in("caf%C3%A9") == "café");
}

BOOST_AUTO_TEST_CASE(what_is_no_name_is_refused) {
    for (const auto* bad : {".", "..", "%2e%2e", "%00", "%zz", "%C3%28", "", "%0a", "%"})
        BOOST_TEST(slug_of(std::string("/streams/") + bad) == "invalid-name", bad);
    BOOST_TEST(slug_of("/streams/" + std::string(513, 'x')) == "invalid-name");
    BOOST_TEST(name_in(std::string(512, 'x')).size() == 512U);
    BOOST_TEST(slug_of("/streams//events") == "invalid-name");
}

BOOST_AUTO_TEST_CASE(a_path_that_is_not_in_the_table_is_unknown) {
    for (const auto* path :
         {"/stream", "/streams/a/event", "/streams/a/events/1/x", "/healthz/", "/STREAMS", "//"})
        BOOST_TEST(slug_of(path) == "unknown-path", path);
}

BOOST_AUTO_TEST_CASE(variables_come_in_their_order) {
    const auto found = find_route("PUT", "/streams/a%2Fb/consumers/c%20d");

    BOOST_REQUIRE(found.row != nullptr);
    BOOST_REQUIRE_EQUAL(found.names.size(), 2U);
    BOOST_TEST(found.names[0] == "a/b");
    BOOST_TEST(found.names[1] == "c d");
}

BOOST_AUTO_TEST_CASE(a_method_the_path_does_not_know_leaves_the_list_of_those_it_does) {
    const auto found = find_route("PATCH", "/streams/a/events");

    BOOST_TEST(found.row == nullptr);
    BOOST_TEST(found.allow == "GET, HEAD, POST, DELETE, OPTIONS");
}

BOOST_AUTO_TEST_CASE(head_is_answered_wherever_get_is) {
    BOOST_TEST(find_route("HEAD", "/streams/a").row == find_route("GET", "/streams/a").row);
}

BOOST_AUTO_TEST_CASE(only_the_probes_take_any_host) {
    BOOST_TEST(streamld::api::is_operation("/readyz"));
    BOOST_TEST(!streamld::api::is_operation("/streams"));
    BOOST_TEST(!streamld::api::is_operation("/"));
}

BOOST_AUTO_TEST_SUITE_END()
