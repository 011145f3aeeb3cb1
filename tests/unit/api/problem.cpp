#include "api/problem.hpp"

#include "store/json_text.hpp"

#include <boost/test/unit_test.hpp>

#include <string>

using streamld::api::problem;
using streamld::store::errc;
using streamld::store::error;

namespace {

std::string header(const streamld::net::response& answer, std::string_view name) {
    for (const auto& [known, value] : answer.headers)
        if (known == name) return value;
    return {};
}

} // namespace

BOOST_AUTO_TEST_SUITE(api_problem)

BOOST_AUTO_TEST_CASE(a_problem_is_rfc_9457_and_never_cached) {
    const auto answer = problem("unknown-stream", "publish to it first").to_response();

    BOOST_TEST(answer.status == 404);
    BOOST_TEST(header(answer, "Content-Type") == "application/problem+json");
    BOOST_TEST(header(answer, "Cache-Control") == "no-store");
    BOOST_TEST(
        answer.body ==
        R"({"type":"/problems/unknown-stream","title":"Unknown stream","status":404,"detail":"publish to it first"})"
    );
}

BOOST_AUTO_TEST_CASE(every_kind_has_a_status_a_title_and_an_explanation) {
    BOOST_TEST(streamld::api::problem_kinds().size() == 23U);
    for (const auto& kind : streamld::api::problem_kinds()) {
        BOOST_TEST(problem(kind.slug, "x").to_response().status == kind.status);
        BOOST_TEST(!kind.title.empty());
        BOOST_TEST(kind.explanation.ends_with('.'));
    }
}

BOOST_AUTO_TEST_CASE(what_will_pass_says_when_to_return) {
    BOOST_TEST(!header(problem("store-unavailable", "x").to_response(), "Retry-After").empty());
    BOOST_TEST(!header(problem("too-many-requests", "x").to_response(), "Retry-After").empty());
    BOOST_TEST(header(problem("forbidden", "x").to_response(), "Retry-After").empty());
}

BOOST_AUTO_TEST_CASE(a_failed_precondition_tells_the_head) {
    const auto answer = problem(error(errc::precondition, "", 41)).to_response();

    BOOST_TEST(answer.status == 412);
    BOOST_TEST(header(answer, "ETag") == "\"41\"");
    BOOST_TEST(answer.body.find(R"("head":41)") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(store_errors_have_statuses) {
    BOOST_TEST(problem(error(errc::invalid_name)).status() == 400);
    BOOST_TEST(problem(error(errc::invalid_cursor)).status() == 400);
    BOOST_TEST(problem(error(errc::invalid_cursor, "", 9)).status() == 422);
    BOOST_TEST(problem(error(errc::too_large)).status() == 413);
    BOOST_TEST(problem(error(errc::unknown_stream)).status() == 404);
    BOOST_TEST(problem(error(errc::idempotency_conflict)).status() == 422);
    BOOST_TEST(problem(error(errc::consumers_behind)).status() == 409);
    BOOST_TEST(problem(error(errc::busy)).status() == 503);
    BOOST_TEST(problem(error(errc::full)).slug() == "store-unavailable");
    BOOST_TEST(problem(error(errc::closed)).slug() == "shutting-down");
    BOOST_TEST(problem(error(errc::statement)).status() == 500);
}

BOOST_AUTO_TEST_CASE(what_a_client_sent_cannot_break_the_answer) {
    const auto answer = problem("invalid-parameter", "unknown \xff\xfe \"x\"\n").to_response();

    BOOST_TEST(static_cast<bool>(streamld::store::check_json(answer.body, 4)));
}

BOOST_AUTO_TEST_CASE(a_message_echoes_the_ref) {
    BOOST_TEST(
        problem("invalid-name", "no").to_message("\"r\"") ==
        R"({"@type":"Error","type":"invalid-name","detail":"no","ref":"r"})"
    );
}

BOOST_AUTO_TEST_SUITE_END()
