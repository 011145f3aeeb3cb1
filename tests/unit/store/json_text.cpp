#include "store/json_text.hpp"

#include <boost/json/parse.hpp>
#include <boost/test/unit_test.hpp>

#include <random>
#include <string>
#include <vector>

using streamld::store::check_json;
using streamld::store::is_plain_utf8;
using streamld::store::is_utf8;

namespace {

std::string repeated(const char* text, int times) {
    std::string all;
    for (int i = 0; i < times; ++i)
        all += text;
    return all;
}

} // namespace

BOOST_AUTO_TEST_SUITE(store_json_text)

BOOST_AUTO_TEST_CASE(depth_is_counted_over_arrays_and_objects) {
    const std::string mixed = repeated("[{\"a\":", 32) + "1" + repeated("}]", 32);

    BOOST_TEST(static_cast<bool>(check_json(mixed, 64)));
    BOOST_TEST(!check_json(mixed, 63));
    BOOST_TEST(!check_json("[" + mixed + "]", 64));
    BOOST_TEST(check_json("[[]]", 1).fault != nullptr);
    BOOST_TEST(std::string(check_json(repeated("[", 65), 64).fault) == "nested deeper than 64");
}

BOOST_AUTO_TEST_CASE(fault_says_where) {
    BOOST_TEST(check_json("[1,x]", 64).at == 3U);
    BOOST_TEST(check_json("{\"a\" 1}", 64).at == 5U);
    BOOST_TEST(check_json("1 2", 64).at == 2U);
}

BOOST_AUTO_TEST_CASE(byte_order_mark_and_emptiness_are_named) {
    BOOST_TEST(
        std::string(check_json("\xEF\xBB\xBF{}", 64).fault) == "begins with a byte-order mark"
    );
    BOOST_TEST(std::string(check_json("", 64).fault) == "empty");
    BOOST_TEST(!check_json("   ", 64));
}

BOOST_AUTO_TEST_CASE(objects_and_line_breaks_are_noticed) {
    BOOST_TEST(check_json(" {}", 64).is_object);
    BOOST_TEST(!check_json("[{}]", 64).is_object);
    BOOST_TEST(check_json("[\n]", 64).has_line_breaks);
    BOOST_TEST(check_json("1\r", 64).has_line_breaks);
    BOOST_TEST(!check_json("\"\\n\"", 64).has_line_breaks);
}

BOOST_AUTO_TEST_CASE(special_byte_is_found_at_every_place_of_a_word) {
    for (std::size_t length = 0; length < 40; ++length) {
        for (std::size_t place = 0; place < length; ++place) {
            std::string text(length, 'x');
            text[place] = '\x01';
            const auto check = check_json("\"" + text + "\"", 64);
            BOOST_REQUIRE(!check);
            BOOST_REQUIRE(check.at == place + 1);
            text[place] = '\x7F';
            BOOST_REQUIRE(check_json("\"" + text + "\"", 64));
            text[place] = '"';
            BOOST_REQUIRE(!check_json("\"" + text + "\"", 64));
            text[place] = '\\';
            BOOST_REQUIRE(!check_json("\"" + text + "\"", 64));
            text[place] = '\xC3';
            BOOST_REQUIRE(!check_json("\"" + text + "\"", 64));
        }
    }
}

BOOST_AUTO_TEST_CASE(utf8_is_judged_by_the_table) {
    for (const std::string good :
         {"a",
          "\xC2\x80",
          "\xDF\xBF",
          "\xE0\xA0\x80",
          "\xED\x9F\xBF",
          "\xEE\x80\x80",
          "\xEF\xBF\xBF",
          "\xF0\x90\x80\x80",
          "\xF4\x8F\xBF\xBF"}) {
        BOOST_TEST(is_utf8(good));
        BOOST_TEST(static_cast<bool>(check_json("\"" + good + "\"", 1)));
    }
    for (const std::string bad :
         {"\x80",
          "\xBF",
          "\xC0\x80",
          "\xC1\xBF",
          "\xC2",
          "\xC2\x41",
          "\xE0\x9F\xBF",
          "\xED\xA0\x80",
          "\xED\xBF\xBF",
          "\xE1\x80",
          "\xF0\x8F\xBF\xBF",
          "\xF4\x90\x80\x80",
          "\xF5\x80\x80\x80",
          "\xF1\x80\x80",
          "\xFF"}) {
        BOOST_TEST(!is_utf8(bad));
        BOOST_TEST(!is_utf8("12345678" + bad));
        BOOST_TEST(!check_json("\"" + bad + "\"", 1));
    }
}

BOOST_AUTO_TEST_CASE(control_characters_are_not_plain) {
    BOOST_TEST(is_plain_utf8("a \xC2\xA0 \xE2\x80\xA8"));
    for (const std::string bad : {"\x1F", "\x7F", "\xC2\x80", "\xC2\x9F", "a\n"})
        BOOST_TEST(!is_plain_utf8(bad));
    BOOST_TEST(!is_plain_utf8(std::string_view("a\0", 2)));
}

// Boost.JSON is the second opinion; lone surrogates are the one known difference.
BOOST_AUTO_TEST_CASE(random_mutations_get_the_verdict_of_another_parser) {
    const std::string seed =
        R"({"a":[1,-2.5e+3,true,false,null,"x\u00e9\n"],"b":{"c":{}},"d":"\\\"/"})";
    const std::string alphabet = "{}[]\",:\\0123456789.eE+-truefalsn u/\t\n\x01\xC3\xA9";
    std::mt19937 random(7);
    boost::json::parse_options options;
    for (int round = 0; round < 50'000; ++round) {
        std::string text = seed;
        const auto changes = 1 + random() % 3;
        for (std::size_t i = 0; i < changes; ++i) {
            const auto place = random() % text.size();
            const char letter = alphabet[random() % alphabet.size()];
            if (random() % 3 == 0) {
                text.erase(place, 1);
            } else {
                text[place] = letter;
            }
        }
        boost::system::error_code fault;
        boost::json::parse(text, fault, {}, options);
        const bool is_surrogate_matter =
            text.find("\\ud") != std::string::npos || text.find("\\uD") != std::string::npos;
        if (is_surrogate_matter || fault == boost::json::error::exponent_overflow) continue;
        BOOST_REQUIRE_MESSAGE(static_cast<bool>(check_json(text, 32)) == !fault.failed(), text);
    }
}

BOOST_AUTO_TEST_SUITE_END()
