#include "api/websocket_message.hpp"

#include "api/problem.hpp"

#include <boost/test/unit_test.hpp>

#include <string>

using streamld::api::own_names;
using streamld::api::problem;
using streamld::api::websocket_message;
using streamld::store::start_kind;

namespace {

const own_names here{"127.0.0.1:8080", ""};
constexpr std::size_t payload_max = 64;

/// The slug of the problem that `act` throws, or empty.
template <class Act>
std::string refusal_of(Act act) {
    try {
        act();
    } catch (const problem& refused) {
        return std::string{refused.slug()};
    }
    return {};
}

std::string subscribe_refusal(const std::string& text) {
    return refusal_of([&] { (void)websocket_message{text}.to_subscribe_request(here); });
}

std::string publish_refusal(const std::string& text) {
    return refusal_of([&] { (void)websocket_message{text}.to_append_request(here, payload_max); });
}

} // namespace

BOOST_AUTO_TEST_SUITE(api_websocket_message)

BOOST_AUTO_TEST_CASE(a_subscription_may_leave_its_type_out) {
    const websocket_message message{R"({"stream":"orders","after":41,"key":"k","ref":1.50})"};

    const auto asked = message.to_subscribe_request(here);

    BOOST_TEST(message.type() == "SubscriptionRequest");
    BOOST_TEST(asked.stream == "orders");
    BOOST_TEST((asked.start.kind == start_kind::after));
    BOOST_TEST(asked.start.value == 41);
    BOOST_TEST(asked.key == "k");
    BOOST_TEST(message.ref_json() == "1.50"); // As it was spelled.
}

BOOST_AUTO_TEST_CASE(a_stream_may_be_named_by_this_server_s_url) {
    const websocket_message message{R"({"stream":"ws://127.0.0.1:8080/streams/a%2Fb"})"};

    BOOST_TEST(message.to_subscribe_request(here).stream == "a/b");
}

BOOST_AUTO_TEST_CASE(what_is_no_object_is_refused) {
    for (const char* text :
         {"",
          "[]",
          "1",
          "null",
          "{\"a\":1}{",
          "{\"stream\":\"a\",\"stream\":\"b\"}",
          "{\"stream\":\"a\",\"ref\":true}",
          "{\"stream\":\"a\",\"ref\":null}"})
        BOOST_TEST(refusal_of([&] { (void)websocket_message{text}; }) == "invalid-request", text);
}

BOOST_AUTO_TEST_CASE(cursors_are_integer_literals) {
    for (const char* after : {"-1", "1.0", "1e3", "\"5\"", "null", "true", "9007199254740992"})
        BOOST_TEST(
            subscribe_refusal(std::string{R"({"stream":"s","after":)"} + after + "}") ==
                "invalid-cursor",
            after
        );
    BOOST_TEST(subscribe_refusal(R"({"stream":"s","after":9007199254740991})") == "");
    BOOST_TEST(subscribe_refusal(R"({"stream":"s","last":-1})") == "invalid-parameter");
}

BOOST_AUTO_TEST_CASE(a_typo_or_a_contradiction_does_not_mean_from_now) {
    BOOST_TEST(subscribe_refusal(R"({"stream":"s","afer":5})") == "invalid-parameter");
    BOOST_TEST(subscribe_refusal(R"({"stream":"s","after":5,"last":1})") == "invalid-parameter");
    BOOST_TEST(subscribe_refusal(R"({"stream":"s","from":"start"})") == "invalid-parameter");
    BOOST_TEST(subscribe_refusal(R"({"stream":"s","key":""})") == "invalid-name");
    BOOST_TEST(subscribe_refusal(R"({"stream":""})") == "invalid-name");
    BOOST_TEST(subscribe_refusal(R"({"after":5})") == "invalid-parameter");
    BOOST_TEST(
        subscribe_refusal(R"({"@context":"x","@id":"y","stream":"s"})") == ""
    ); // JSON-LD's own.
}

BOOST_AUTO_TEST_CASE(a_published_payload_keeps_its_bytes) {
    const websocket_message message{
        R"({"@type":"Publish","stream":"s","payload": { "n" : 1.0e+400, "n":"\u00e9" } ,"key":"k","isSnapshot":true,"contentType":"Application/LD+JSON","idempotencyKey":"t-1"})"};

    const auto request = message.to_append_request(here, payload_max);

    BOOST_TEST(request.events.front().payload == R"({ "n" : 1.0e+400, "n":"\u00e9" })");
    BOOST_TEST(request.events.front().key.value() == "k");
    BOOST_TEST(request.events.front().is_snapshot);
    BOOST_TEST(request.content_type == "application/ld+json");
    BOOST_TEST(request.idempotency_key == "t-1");
}

BOOST_AUTO_TEST_CASE(a_publish_that_is_not_one_is_refused_by_name) {
    BOOST_TEST(publish_refusal(R"({"@type":"Publish","stream":"s"})") == "invalid-parameter");
    BOOST_TEST(
        publish_refusal(R"({"@type":"Publish","stream":"s","payload":1,"isSnapshot":"yes"})") ==
        "invalid-parameter"
    );
    BOOST_TEST(
        publish_refusal(R"({"@type":"Publish","stream":"s","payload":1,"contentType":"text/plain"})"
        ) == "unsupported-media-type"
    );
    BOOST_TEST(
        publish_refusal(
            R"({"@type":"Publish","stream":"s","payload":")" + std::string(payload_max, 'x') + "\"}"
        ) == "payload-too-large"
    );
    BOOST_TEST(
        publish_refusal(R"({"@type":"Publish","stream":"s","payload":1,"snapshot":true})") ==
        "invalid-parameter"
    );
}

BOOST_AUTO_TEST_SUITE_END()
