#include "api/subscribe_request.hpp"

#include "api/problem.hpp"

#include <boost/test/unit_test.hpp>

#include <array>
#include <string>

using streamld::api::parameters;
using streamld::api::problem;
using streamld::api::read_subscribe_request;
using streamld::api::resolve_stream_name;
using streamld::store::start_kind;

namespace {

constexpr std::array<std::string_view, 6> known{
    "after", "last", "from", "consumer", "key", "epoch"};

streamld::api::subscribe_request read(std::string_view query) {
    return read_subscribe_request("t", parameters(query, known), start_kind::live);
}

std::string slug_of(std::string_view query) {
    try {
        read(query);
    } catch (const problem& fault) {
        return std::string(fault.slug());
    }
    return {};
}

std::string resolve(std::string_view text) {
    return resolve_stream_name(text, "localhost:8080", "https://events.example");
}

} // namespace

BOOST_AUTO_TEST_SUITE(api_subscribe_request)

BOOST_AUTO_TEST_CASE(each_option_names_a_start) {
    BOOST_TEST((read("").start.kind == start_kind::live));
    BOOST_TEST(read("after=7").start.value == 7);
    BOOST_TEST((read("last=3").start.kind == start_kind::last));
    BOOST_TEST((read("from=snapshot").start.kind == start_kind::snapshot));
    BOOST_TEST(read("consumer=c").start.consumer == "c");
    BOOST_TEST(read("key=k&epoch=0123456789abcdef").key == "k");
}

BOOST_AUTO_TEST_CASE(two_starts_contradict_each_other) {
    BOOST_TEST(slug_of("after=1&last=1") == "invalid-parameter");
    BOOST_TEST(slug_of("from=snapshot&consumer=c") == "invalid-parameter");
}

BOOST_AUTO_TEST_CASE(each_fault_has_its_slug) {
    BOOST_TEST(slug_of("after=abc") == "invalid-cursor");
    BOOST_TEST(slug_of("after=") == "invalid-cursor");
    BOOST_TEST(slug_of("last=-1") == "invalid-parameter");
    BOOST_TEST(slug_of("from=start") == "invalid-parameter");
    BOOST_TEST(slug_of("consumer=") == "invalid-name");
    BOOST_TEST(slug_of("key=") == "invalid-name");
    BOOST_TEST(slug_of("epoch=XYZ") == "invalid-parameter");
}

BOOST_AUTO_TEST_CASE(own_urls_name_their_last_segment) {
    BOOST_TEST(resolve("http://localhost:8080/streams/a%2Fb") == "a/b");
    BOOST_TEST(resolve("ws://LOCALHOST:8080/streams/orders") == "orders");
    BOOST_TEST(resolve("wss://events.example/streams/orders") == "orders");
}

BOOST_AUTO_TEST_CASE(any_other_string_is_the_name) {
    BOOST_TEST(resolve("orders") == "orders");
    BOOST_TEST(resolve("a%2Fb") == "a%2Fb");
    BOOST_TEST(resolve("http://elsewhere/streams/x") == "http://elsewhere/streams/x");
    BOOST_TEST(
        resolve("http://localhost:8080/streams/x/events") ==
        "http://localhost:8080/streams/x/events"
    );
    BOOST_TEST(resolve("ftp://localhost:8080/streams/x") == "ftp://localhost:8080/streams/x");
}

BOOST_AUTO_TEST_CASE(a_name_is_checked_after_decoding) {
    BOOST_CHECK_THROW(resolve(""), problem);
    BOOST_CHECK_THROW(resolve(".."), problem);
    BOOST_CHECK_THROW(resolve("http://localhost:8080/streams/%2e%2e"), problem);
    BOOST_CHECK_THROW(resolve("http://localhost:8080/streams/%zz"), problem);
}

BOOST_AUTO_TEST_SUITE_END()
