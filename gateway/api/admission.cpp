#include "api/admission.hpp"

#include "api/answers.hpp"
#include "api/negotiation.hpp"
#include "api/problem.hpp"
#include "auth/origin.hpp"
#include "auth/policy.hpp"
#include "delivery/event_stream.hpp"

#include <algorithm>

namespace streamld::api {

namespace {

auth::access_rules rules_of(const settings& limits) {
    return auth::access_rules{limits.public_url, limits.allowed_origins, limits.is_loopback};
}

void append(auth::header_list& list, auth::header_list more) {
    std::move(more.begin(), more.end(), std::back_inserter(list));
}

/// Host and Origin (PROTOCOL.md section 9). A browser tells both; nobody else has to.
void guard(exchange& request) {
    const auto& limits = request.shard.limits;
    const auto rules = rules_of(limits);
    const auto host = request.header("Host");
    const auto origin = request.header("Origin");
    const bool is_for_anyone = is_operation(request.path);
    if (!limits.allowed_origins.empty()) request.common_headers.emplace_back("Vary", "Origin");
    if (!is_for_anyone && !auth::is_host_allowed(host, rules))
        throw problem(
            "forbidden",
            "this server answers as localhost and as its --public-url only, so that no other name "
            "can be "
            "pointed at it"
        );
    if (request.request().count("Origin") > 1)
        throw problem("invalid-request", "send one Origin header");
    const auto verdict = auth::judge_origin(origin, host, rules);
    if (verdict == auth::origin_verdict::listed)
        append(request.common_headers, auth::cors_headers(*origin, rules));
    if (verdict == auth::origin_verdict::refused && !is_for_anyone)
        throw problem(
            "forbidden",
            "this origin may not use the server; its operator can list it with --allow-origin"
        );
}

net::response options_answer(const exchange& request, const std::string& allow) {
    net::response answer(204);
    answer.set("Allow", allow);
    const bool is_preflight =
        request.header("Origin") && request.header("Access-Control-Request-Method");
    if (is_preflight && request.common_headers.size() > 1)
        append(answer.headers, auth::preflight_headers(allow));
    return answer;
}

void check_right(const exchange& request, const route& row) {
    const auto stream =
        request.names.empty() ? std::string_view{} : std::string_view(request.names.front());
    switch (auth::decide(row.needed, stream)) {
    case auth::decision::allowed:
        return;
    case auth::decision::unauthorized:
        throw problem("unauthorized", "send Authorization: Bearer <token>");
    case auth::decision::forbidden:
        throw problem("forbidden", "the token does not grant this");
    }
}

} // namespace

admission admit(exchange& request) {
    const auto& head = request.request();
    const auto path_end = std::min(head.target.find('?'), head.target.size());
    request.path = head.target.substr(0, path_end);
    guard(request);
    admission admitted;
    if (request.path == "*") { // OPTIONS only; the parser lets no other method through.
        admitted.answer = options_answer(request, "GET, HEAD, POST, PUT, DELETE, OPTIONS");
        return admitted;
    }
    auto found = find_route(head.method, request.path);
    if (head.method == "OPTIONS") {
        admitted.answer = options_answer(request, found.allow);
        return admitted;
    }
    if (found.row == nullptr) {
        problem refusal("method-not-allowed", "this path knows " + found.allow);
        refusal.with_allow(found.allow);
        throw refusal;
    }
    request.method = found.row->method;
    request.is_head = head.method == "HEAD";
    request.names = std::move(found.names);
    check_right(request, *found.row);
    admitted.row = found.row;
    return admitted;
}

bool wants_event_stream(const exchange& request, const route& row) {
    static constexpr representation only[] = {representation::event_stream};
    if (row.event_stream == event_stream_rule::never) return false;
    const auto accept = accept_of(request.request());
    const auto wanted = row.event_stream == event_stream_rule::always
                            ? negotiate(accept, only)
                            : negotiate(accept, event_offers);
    return wanted == representation::event_stream;
}

net::response come_back_later() {
    auto answer = event_stream_head();
    answer.body = retry_line(1000, 10'000) + "\n";
    answer.must_close = true;
    return answer;
}

} // namespace streamld::api
