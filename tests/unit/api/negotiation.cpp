#include "api/negotiation.hpp"

#include <boost/test/unit_test.hpp>

#include <optional>

using streamld::api::event_offers;
using streamld::api::negotiate;
using streamld::api::parse_media_type;
using streamld::api::representation;

namespace {

std::optional<representation> choose(std::string_view accept) {
    return negotiate(accept, event_offers);
}

} // namespace

BOOST_AUTO_TEST_SUITE(api_negotiation)

BOOST_AUTO_TEST_CASE(json_is_what_everything_means) {
    for (const auto* accept :
         {"",
          " ",
          "*/*",
          "application/*",
          "text/html,application/xhtml+xml,*/*;q=0.8",
          "APPLICATION/JSON"})
        BOOST_TEST((choose(accept) == representation::json), accept);
}

BOOST_AUTO_TEST_CASE(a_named_type_is_given) {
    BOOST_TEST((choose("text/event-stream") == representation::event_stream));
    BOOST_TEST((choose("text/*") == representation::event_stream));
    BOOST_TEST((choose("application/x-ndjson") == representation::ndjson));
    BOOST_TEST((choose("application/ld+json; profile=\"a;q=0,b\"") == representation::jsonld));
}

BOOST_AUTO_TEST_CASE(weights_decide_then_exactness_then_place) {
    BOOST_TEST(
        (choose("application/json;q=0.5, application/ld+json;q=0.9") == representation::jsonld)
    );
    BOOST_TEST((choose("*/*, text/event-stream") == representation::event_stream));
    BOOST_TEST((choose("text/event-stream, application/json") == representation::event_stream));
    BOOST_TEST((choose("application/json, text/event-stream") == representation::json));
    BOOST_TEST((choose("application/json;q=0, */*;q=0.1") == representation::jsonld));
    BOOST_TEST(
        (choose("application/ld+json;q=1.000, application/json; q=1") == representation::jsonld)
    );
}

BOOST_AUTO_TEST_CASE(nothing_acceptable_is_said) {
    for (const auto* accept :
         {"text/html", "application/json;q=0", "*/*;q=0", "image/*", "application/json;q=2"})
        BOOST_TEST(!choose(accept).has_value(), accept);
}

BOOST_AUTO_TEST_CASE(media_types_are_read_with_their_parameters) {
    const auto type = parse_media_type("Application/JSON ; charset=\"UTF-8\";");

    BOOST_REQUIRE(type);
    BOOST_TEST(type->essence == "application/json");
    BOOST_TEST(*type->find("charset") == "UTF-8");
    BOOST_TEST(type->find("profile") == nullptr);
}

BOOST_AUTO_TEST_CASE(what_is_no_media_type_is_refused) {
    for (const auto* text :
         {"",
          "json",
          "application/",
          "/json",
          "*/*",
          "text/*",
          "a b/c",
          "text/plain; charset",
          "text/plain; a=\"x"})
        BOOST_TEST(!parse_media_type(text).has_value(), text);
}

BOOST_AUTO_TEST_SUITE_END()
