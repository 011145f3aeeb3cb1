#include "auth/origin.hpp"

#include <boost/test/unit_test.hpp>

#include <optional>
#include <string>
#include <vector>

using streamld::auth::access_rules;
using streamld::auth::origin_verdict;

namespace {

struct guarded_server {
    std::string public_url = "https://events.example";
    std::vector<std::string> allowed{"https://app.example", "http://localhost:3000"};
    bool is_loopback = true;

    [[nodiscard]] access_rules rules() const {
        return access_rules{public_url, allowed, is_loopback};
    }

    [[nodiscard]] bool takes_host(std::optional<std::string_view> host) const {
        return streamld::auth::is_host_allowed(host, rules());
    }

    [[nodiscard]] origin_verdict
    judge(std::string_view origin, std::string_view host = "localhost:8080") const {
        return streamld::auth::judge_origin(origin, host, rules());
    }
};

} // namespace

BOOST_TEST_DONT_PRINT_LOG_VALUE(origin_verdict)

BOOST_AUTO_TEST_SUITE(auth_origin)

BOOST_AUTO_TEST_CASE(loopback_names_pass_with_any_port) {
    const guarded_server server;

    for (const auto* host :
         {"localhost",
          "LocalHost:1",
          "127.0.0.1:8080",
          "[::1]",
          "[::1]:9",
          "events.example",
          "events.example:8443"})
        BOOST_TEST(server.takes_host(host), host);
    BOOST_TEST(server.takes_host(std::nullopt));
}

BOOST_AUTO_TEST_CASE(a_name_pointed_at_loopback_does_not) {
    const guarded_server server;

    for (const auto* host :
         {"evil.example",
          "localhost.evil.example",
          "127.0.0.1.nip.io",
          "localhost:8080@evil",
          "127.0.0.2",
          "[::2]",
          "[::1"})
        BOOST_TEST(!server.takes_host(host), host);
}

BOOST_AUTO_TEST_CASE(a_server_opened_on_purpose_takes_any_host) {
    guarded_server server;
    server.is_loopback = false;

    BOOST_TEST(server.takes_host("anything.example"));
}

BOOST_AUTO_TEST_CASE(same_origin_is_host_or_public_url) {
    const guarded_server server;

    BOOST_TEST((server.judge("http://localhost:8080") == origin_verdict::same_origin));
    BOOST_TEST((server.judge("https://events.example") == origin_verdict::same_origin));
    BOOST_TEST(
        (server.judge("https://events.example", "events.example") == origin_verdict::same_origin)
    );
    BOOST_TEST((server.judge("http://127.0.0.1", "127.0.0.1:80") == origin_verdict::same_origin));
}

BOOST_AUTO_TEST_CASE(listed_origins_are_compared_whole) {
    const guarded_server server;

    BOOST_TEST((server.judge("https://app.example") == origin_verdict::listed));
    BOOST_TEST((server.judge("https://APP.example:443") == origin_verdict::listed));
    BOOST_TEST((server.judge("http://localhost:3000") == origin_verdict::listed));
}

BOOST_AUTO_TEST_CASE(every_other_origin_is_refused) {
    const guarded_server server;

    for (const auto* origin :
         {"null",
          "",
          "https://app.example.evil",
          "http://app.example",
          "https://app.example:8443",
          "http://localhost:8081",
          "http://127.0.0.1:8080",
          "https://app.example/",
          "file://",
          "ftp://app.example"})
        BOOST_TEST((server.judge(origin) == origin_verdict::refused), origin);
}

BOOST_AUTO_TEST_CASE(no_origin_is_no_browser) {
    const guarded_server server;

    const auto verdict = streamld::auth::judge_origin(std::nullopt, "localhost", server.rules());

    BOOST_TEST((verdict == origin_verdict::absent));
}

BOOST_AUTO_TEST_CASE(a_star_lists_every_site_but_not_null_and_no_cookies) {
    guarded_server server;
    server.allowed = {"*"};

    BOOST_TEST((server.judge("https://any.example") == origin_verdict::listed));
    BOOST_TEST((server.judge("null") == origin_verdict::refused));
    for (const auto& [name, value] :
         streamld::auth::cors_headers("https://any.example", server.rules()))
        BOOST_TEST(name != "Access-Control-Allow-Credentials");
}

BOOST_AUTO_TEST_CASE(the_preflight_allows_what_clients_send) {
    std::string allowed;
    for (const auto& [name, value] : streamld::auth::preflight_headers("GET"))
        if (name == "Access-Control-Allow-Headers") allowed = value;

    for (const auto* header :
         {"Authorization",
          "Cache-Control",
          "Content-Type",
          "Idempotency-Key",
          "If-Match",
          "If-None-Match",
          "Last-Event-ID",
          "StreamLD-Key",
          "Accept"})
        BOOST_TEST(allowed.find(header) != std::string::npos, header);
}

BOOST_AUTO_TEST_SUITE_END()
