#include "api/parameters.hpp"

#include "api/problem.hpp"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <array>
#include <string>

using streamld::api::parameters;
using streamld::api::parse_offset;
using streamld::api::percent_decode;
using streamld::api::percent_encode;
using streamld::api::problem;

namespace {

constexpr std::array<std::string_view, 4> known{"after", "limit", "stream", "snapshot"};

parameters parse(std::string_view query) {
    return parameters(query, known);
}

auto is_invalid_parameter(std::string_view named) {
    return [named](const problem& fault) {
        return fault.slug() == "invalid-parameter" &&
               fault.detail().find(named) != std::string::npos;
    };
}

constexpr const char* not_numbers[] = {
    "",
    "-1",
    "+5",
    " 5",
    "5 ",
    "1e3",
    "1.5",
    "5.0",
    "00010",
    "01",
    "0x1",
    "abc",
    "urn:uuid:1",
    "9007199254740992",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551616",
    "99999999999999999999999999"};

} // namespace

BOOST_AUTO_TEST_SUITE(api_parameters)

BOOST_AUTO_TEST_CASE(offsets_are_plain_digits_up_to_two_to_the_53) {
    BOOST_TEST(parse_offset("0").value() == 0);
    BOOST_TEST(parse_offset("41").value() == 41);
    BOOST_TEST(parse_offset("2147483648").value() == 2147483648);
    BOOST_TEST(parse_offset("9007199254740991").value() == streamld::store::offset_max);
}

BOOST_DATA_TEST_CASE(anything_else_is_no_offset, not_numbers) {
    BOOST_TEST(!parse_offset(sample).has_value());
}

BOOST_AUTO_TEST_CASE(values_are_decoded_once) {
    const auto query = parse("after=a%252Fb+c&limit=%2B1");

    BOOST_TEST(*query.find("after") == "a%2Fb c");
    BOOST_TEST(*query.find("limit") == "+1");
}

BOOST_AUTO_TEST_CASE(a_parameter_without_value_is_empty_and_one_not_given_is_absent) {
    const auto query = parse("after&&limit=");

    BOOST_TEST(query.find("after")->empty());
    BOOST_TEST(query.find("limit")->empty());
    BOOST_TEST(query.find("stream") == nullptr);
}

BOOST_AUTO_TEST_CASE(only_stream_may_be_repeated) {
    const auto names = parse("stream=a&stream=b").all("stream");

    BOOST_TEST(names == (std::vector<std::string>{"a", "b"}), boost::test_tools::per_element());
    BOOST_CHECK_EXCEPTION(parse("after=3&after=9"), problem, is_invalid_parameter("`after`"));
}

BOOST_AUTO_TEST_CASE(an_unknown_name_is_refused_and_named) {
    BOOST_CHECK_EXCEPTION(parse("aftre=3"), problem, is_invalid_parameter("`aftre`"));
    BOOST_CHECK_EXCEPTION(parse("After=3"), problem, is_invalid_parameter("`After`"));
}

BOOST_AUTO_TEST_CASE(trackers_and_credentials_are_passed_over) {
    const auto query = parse("_=1&utm_source=x&access_token=secret&ticket=t&limit=2");

    BOOST_TEST(query.find("access_token") == nullptr);
    BOOST_TEST(*query.find("limit") == "2");
}

BOOST_AUTO_TEST_CASE(broken_percent_encoding_is_refused) {
    BOOST_CHECK_EXCEPTION(parse("after=%zz"), problem, is_invalid_parameter("value"));
    BOOST_CHECK_EXCEPTION(parse("%4=1"), problem, is_invalid_parameter("name"));
}

BOOST_AUTO_TEST_CASE(flags_are_true_or_false) {
    BOOST_TEST(parse("snapshot=true").flag("snapshot"));
    BOOST_TEST(!parse("snapshot=false").flag("snapshot"));
    BOOST_TEST(!parse("").flag("snapshot"));
    BOOST_CHECK_EXCEPTION(
        static_cast<void>(parse("snapshot=1").flag("snapshot")),
        problem,
        is_invalid_parameter("snapshot")
    );
}

BOOST_AUTO_TEST_CASE(percent_coding_round_trips_every_byte) {
    std::string bytes;
    for (int i = 0; i < 256; ++i)
        bytes += static_cast<char>(i);

    BOOST_TEST(percent_decode(percent_encode(bytes), false).value() == bytes);
    BOOST_TEST(percent_decode("a+b", false).value() == "a+b");
    BOOST_TEST(!percent_decode("100%", false).has_value());
    BOOST_TEST(percent_encode("a/b ü") == "a%2Fb%20%C3%BC");
}

BOOST_AUTO_TEST_SUITE_END()
