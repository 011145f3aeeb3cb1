#include "store/event.hpp"

#include <boost/test/unit_test.hpp>

using streamld::store::is_json_type;
using streamld::store::is_valid_key;
using streamld::store::is_valid_name;

BOOST_AUTO_TEST_SUITE(store_names)

BOOST_AUTO_TEST_CASE(length_is_counted_in_bytes) {
    BOOST_TEST(!is_valid_name(""));
    BOOST_TEST(is_valid_name(std::string(512, 'x')));
    BOOST_TEST(!is_valid_name(std::string(513, 'x')));
}

BOOST_AUTO_TEST_CASE(dots_are_no_names_but_keys) {
    for (const char* dots : {".", ".."}) {
        BOOST_TEST(!is_valid_name(dots));
        BOOST_TEST(is_valid_key(dots));
    }
    BOOST_TEST(is_valid_name("..."));
    BOOST_TEST(!is_valid_key(""));
}

BOOST_AUTO_TEST_CASE(json_types_are_known_by_their_suffix) {
    BOOST_TEST(is_json_type("application/json"));
    BOOST_TEST(is_json_type("application/ld+json"));
    BOOST_TEST(is_json_type("application/vnd.x+json"));
    BOOST_TEST(!is_json_type("text/plain"));
    BOOST_TEST(!is_json_type("application/jsonx"));
    BOOST_TEST(!is_json_type("text/json"));
}

BOOST_AUTO_TEST_SUITE_END()
