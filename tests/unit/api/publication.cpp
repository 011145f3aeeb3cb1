#include "api/publication.hpp"

#include "api/problem.hpp"

#include <boost/test/unit_test.hpp>

#include <functional>
#include <string>

using streamld::api::batch_limits;
using streamld::api::body_kind;
using streamld::api::problem;
using streamld::api::read_body_form;
using streamld::api::read_expected_head;
using streamld::api::read_idempotency_key;
using streamld::api::read_key;
using streamld::api::read_lines;

namespace {

/// "slug detail" of what it throws, or "".
std::string fault_of(const std::function<void()>& act) {
    try {
        act();
    } catch (const problem& fault) {
        return std::string(fault.slug()) + ' ' + fault.detail();
    }
    return {};
}

std::string form_fault(std::string_view type, std::string_view encoding = {}) {
    return fault_of([=] { static_cast<void>(read_body_form(type, encoding)); });
}

constexpr std::size_t payload_bytes_max = 100;
constexpr std::size_t events_max = 3;

auto lines(std::string_view body, body_kind kind = body_kind::lines) {
    const batch_limits limits{payload_bytes_max, events_max};
    return read_lines(body, kind, "k", true, limits);
}

std::string lines_fault(std::string_view body, body_kind kind = body_kind::lines) {
    return fault_of([=] { static_cast<void>(lines(body, kind)); });
}

std::string envelope_fault(std::string_view body) {
    return lines_fault(body, body_kind::envelope_lines);
}

bool is_about(const std::string& fault, std::string_view slug, std::string_view words) {
    return fault.starts_with(slug) && fault.find(words) != std::string::npos;
}

} // namespace

BOOST_AUTO_TEST_SUITE(api_publication)

BOOST_AUTO_TEST_CASE(json_is_kept_without_parameters_and_is_the_default) {
    BOOST_TEST(read_body_form("", "").content_type == "application/json");
    BOOST_TEST(
        read_body_form("Application/JSON;charset=UTF-8", "").content_type == "application/json"
    );
    BOOST_TEST(
        read_body_form("application/Problem+json", "identity").content_type ==
        "application/problem+json"
    );
    BOOST_TEST(read_body_form("text/plain", "").content_type == "text/plain");
}

BOOST_AUTO_TEST_CASE(forms_and_lines_are_told_apart) {
    const auto form = read_body_form("application/x-www-form-urlencoded", "");

    BOOST_TEST((form.kind == body_kind::form));
    BOOST_TEST(form.content_type == "application/json");
    BOOST_TEST((read_body_form("application/x-ndjson", "").kind == body_kind::lines));
    BOOST_TEST(
        (read_body_form("application/x-ndjson; profile=\"envelope\"", "").kind ==
         body_kind::envelope_lines)
    );
}

BOOST_AUTO_TEST_CASE(what_cannot_be_kept_as_sent_is_unsupported) {
    BOOST_TEST(form_fault("json").starts_with("unsupported-media-type"));
    BOOST_TEST(form_fault("application/json; charset=utf-16").starts_with("unsupported-media-type")
    );
    BOOST_TEST(
        form_fault("application/x-ndjson; profile=other").starts_with("unsupported-media-type")
    );
    BOOST_TEST(form_fault("application/json", "gzip").starts_with("unsupported-media-type"));
}

BOOST_AUTO_TEST_CASE(a_key_comes_from_header_or_query_and_they_agree) {
    const std::string key = "k";
    const std::string empty;

    BOOST_TEST(!read_key({}, nullptr).has_value());
    BOOST_TEST(read_key("k", &key).value() == "k");
    BOOST_TEST(fault_of([&] { static_cast<void>(read_key("other", &key)); }
    ).starts_with("invalid-parameter"));
    BOOST_TEST(fault_of([&] { static_cast<void>(read_key({}, &empty)); }
    ).starts_with("invalid-name"));
    BOOST_TEST(fault_of([] { static_cast<void>(read_key("\xff", nullptr)); }
    ).starts_with("invalid-name"));
}

BOOST_AUTO_TEST_CASE(an_idempotency_key_is_visible_and_short) {
    BOOST_TEST(read_idempotency_key({}).empty());
    BOOST_TEST(read_idempotency_key("a-1") == "a-1");
    for (const std::string& bad :
         {std::string{}, std::string("a b"), std::string("\xc3\xa9"), std::string(513, 'x')})
        BOOST_TEST(!fault_of([&] { static_cast<void>(read_idempotency_key(bad)); }).empty());
}

BOOST_AUTO_TEST_CASE(preconditions_are_one_strong_tag_or_none_at_all) {
    BOOST_TEST(!read_expected_head({}, {}).has_value());
    BOOST_TEST(read_expected_head("\"41\"", {}).value() == 41);
    BOOST_TEST(read_expected_head({}, "*").value() == 0);
    for (const auto* bad :
         {"*", "41", "W/\"41\"", "\"41\", \"42\"", "\"041\"", "\"\"", "\"x\"", "\""})
        BOOST_TEST(!fault_of([=] { static_cast<void>(read_expected_head(bad, {})); }).empty(), bad);
    BOOST_TEST(!fault_of([] { static_cast<void>(read_expected_head({}, "\"41\"")); }).empty());
    BOOST_TEST(!fault_of([] { static_cast<void>(read_expected_head("\"0\"", "*")); }).empty());
}

BOOST_AUTO_TEST_CASE(empty_lines_are_skipped_and_bytes_kept) {
    const auto events = lines("\n{\"a\": 1.0}\r\n\r\n  \n[1,\t2]");

    BOOST_REQUIRE_EQUAL(events.size(), 2U);
    BOOST_TEST(events[0].payload == "{\"a\": 1.0}");
    BOOST_TEST(events[1].payload == "[1,\t2]");
    BOOST_TEST(events[1].key.value() == "k");
    BOOST_TEST(events[1].is_snapshot);
}

BOOST_AUTO_TEST_CASE(a_bad_line_is_named_by_its_number) {
    BOOST_TEST(is_about(lines_fault("1\n\n{]\n"), "invalid-payload", "line 3"));
    BOOST_TEST(is_about(
        lines_fault("\xEF\xBB\xBF"
                    "1\n"),
        "invalid-payload",
        "line 1"
    ));
    BOOST_TEST(is_about(lines_fault("1\n2\n3\n4\n"), "payload-too-large", "line 4"));
    BOOST_TEST(
        is_about(lines_fault('"' + std::string(100, 'x') + "\"\n"), "payload-too-large", "line 1")
    );
    BOOST_TEST(is_about(lines_fault("\n \r\n"), "invalid-payload", "no event"));
}

BOOST_AUTO_TEST_CASE(an_envelope_lends_its_payload_byte_for_byte) {
    const auto events = lines(
        " { \"key\" : \"\\u00fc\" , \"payload\" :  {\"n\":1.00, \"n\":2,\"s\":\"}\\\"\"}  "
        ",\"isSnapshot\":false}\n"
        "{\"payload\":null}",
        body_kind::envelope_lines
    );

    BOOST_REQUIRE_EQUAL(events.size(), 2U);
    BOOST_TEST(events[0].payload == "{\"n\":1.00, \"n\":2,\"s\":\"}\\\"\"}");
    BOOST_TEST(events[0].key.value() == "ü");
    BOOST_TEST(!events[0].is_snapshot);
    BOOST_TEST(events[1].payload == "null");
    BOOST_TEST(events[1].key.value() == "k");
    BOOST_TEST(events[1].is_snapshot);
}

BOOST_AUTO_TEST_CASE(an_envelope_has_no_other_members) {
    BOOST_TEST(
        is_about(envelope_fault("{\"payload\":1,\"keys\":\"x\"}"), "invalid-payload", "`keys`")
    );
    BOOST_TEST(is_about(envelope_fault("{\"payload\":1,\"payload\":2}"), "invalid-payload", "twice")
    );
    BOOST_TEST(is_about(envelope_fault("{\"key\":\"x\"}"), "invalid-payload", "missing"));
    BOOST_TEST(is_about(envelope_fault("[1]"), "invalid-payload", "line 1"));
    BOOST_TEST(is_about(envelope_fault("{\"payload\":1,\"key\":7}"), "invalid-payload", "string"));
    BOOST_TEST(is_about(envelope_fault("{\"payload\":1,\"key\":\"\"}"), "invalid-name", "line 1"));
    BOOST_TEST(is_about(
        envelope_fault("{\"payload\":1,\"isSnapshot\":1}"), "invalid-payload", "isSnapshot"
    ));
}

BOOST_AUTO_TEST_SUITE_END()
