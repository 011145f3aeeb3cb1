#include "net/head_parser.hpp"

#include <boost/test/unit_test.hpp>

#include <string>

namespace {

using streamld::net::parse_head;
using streamld::net::request;

struct parsed {
    std::string bytes;
    request head;
    std::optional<streamld::net::refusal> fault;

    explicit parsed(std::string text) : bytes(std::move(text)) {
        fault = parse_head(bytes, 1024, head);
    }

    parsed(const parsed&) = delete;
};

int status_of(std::string headers, std::string line = "POST /x HTTP/1.1") {
    const parsed it{line + "\r\n" + headers + "\r\n"};
    if (it.fault) {
        BOOST_TEST(it.fault->slug == "invalid-request");
        BOOST_TEST(!it.fault->detail.empty());
    }
    return it.fault ? it.fault->status : 0;
}

using std::string_literals::operator""s;

} // namespace

BOOST_AUTO_TEST_SUITE(net_head_parser)

BOOST_AUTO_TEST_CASE(a_request_is_seen_as_sent) {
    const parsed it{"PUT /a%2Fb?x=1 HTTP/1.1\r\nHost: h:1\r\nX-Two:  b c \r\nx-two: d\r\n"
                    "Content-Length: 7\r\nExpect: 100-Continue\r\n\r\n"};

    BOOST_REQUIRE(!it.fault);
    BOOST_TEST(it.head.method == "PUT");
    BOOST_TEST(it.head.target == "/a%2Fb?x=1");
    BOOST_TEST(it.head.version == 11);
    BOOST_TEST(*it.head.find("x-tWO") == "b c");
    BOOST_TEST(it.head.count("X-TWO") == 2U);
    BOOST_TEST(!it.head.find("absent"));
    BOOST_TEST(*it.head.content_length == 7U);
    BOOST_TEST(it.head.has_body);
    BOOST_TEST(it.head.expects_continue);
    BOOST_TEST(it.head.keep_alive);
    BOOST_TEST(!it.head.wants_upgrade);
}

BOOST_AUTO_TEST_CASE(ambiguous_lengths_are_refused) {
    BOOST_TEST(status_of("Host: h\r\nContent-Length: 5\r\n") == 0);
    BOOST_TEST(status_of("Host: h\r\nTransfer-Encoding: Chunked\r\n") == 0);
    BOOST_TEST(status_of("Host: h\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n") == 400);
    BOOST_TEST(status_of("Host: h\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n") == 400);
    BOOST_TEST(status_of("Host: h\r\nContent-Length: 5\r\nContent-Length: 6\r\n") == 400);
    BOOST_TEST(status_of("Host: h\r\nContent-Length: 5\r\nContent-Length: 5\r\n") == 400);
    BOOST_TEST(status_of("Host: h\r\nContent-Length: 5, 5\r\n") == 400);
    BOOST_TEST(status_of("Host: h\r\nContent-Length: +5\r\n") == 400);
    BOOST_TEST(status_of("Host: h\r\nContent-Length: 0x5\r\n") == 400);
    BOOST_TEST(status_of("Host: h\r\nContent-Length:\r\n") == 400);
    BOOST_TEST(status_of("Host: h\r\nContent-Length: 99999999999999999999\r\n") == 400);
    BOOST_TEST(
        status_of("Host: h\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n") == 400
    );
}

BOOST_AUTO_TEST_CASE(codings_other_than_chunked_are_not_implemented) {
    BOOST_TEST(status_of("Host: h\r\nTransfer-Encoding: gzip, chunked\r\n") == 501);
    BOOST_TEST(status_of("Host: h\r\nTransfer-Encoding: gzip\r\n") == 501);
    BOOST_TEST(status_of("Host: h\r\nTransfer-Encoding: xchunked\r\n") == 501);
    BOOST_TEST(status_of("Transfer-Encoding: chunked\r\n", "POST /x HTTP/1.0") == 400);
}

BOOST_AUTO_TEST_CASE(one_host_is_needed) {
    BOOST_TEST(status_of("") == 400);
    BOOST_TEST(status_of("Host: a\r\nHost: a\r\n") == 400);
    BOOST_TEST(status_of("Host: a, b\r\n") == 400);
    BOOST_TEST(status_of("Host: u@a\r\n") == 400);
    BOOST_TEST(status_of("Host: [::1]:80\r\n") == 0);
    BOOST_TEST(status_of("", "GET / HTTP/1.0") == 0);
}

BOOST_AUTO_TEST_CASE(malformed_lines_are_refused) {
    BOOST_TEST(status_of("Host: h\r\nX: a\r\n b\r\n") == 400);
    BOOST_TEST(status_of("Host: h\nX: a\r\n") == 400);
    BOOST_TEST(status_of("Host: h\r\nX: a\rb\r\n") == 400);
    BOOST_TEST(status_of("Host: h\r\nX : a\r\n") == 400);
    BOOST_TEST(status_of("Host: h\r\nno colon\r\n") == 400);
    BOOST_TEST(status_of("Host: h\r\n: empty\r\n") == 400);
    BOOST_TEST(status_of("Host: h\r\nX: a\0b\r\n"s) == 400);
    BOOST_TEST(status_of("Host: h\r\nX: a\x1b\r\n") == 400);
    BOOST_TEST(status_of("Host: h\r\nX: a\x7f\r\n") == 400);
    BOOST_TEST(status_of("Host: h\r\n", "GET / HTTP/2.0") == 400);
    BOOST_TEST(status_of("Host: h\r\n", "GET / HTTP/1.2") == 400);
    BOOST_TEST(status_of("Host: h\r\n", "GET / http/1.1") == 400);
    BOOST_TEST(status_of("Host: h\r\n", "GET  / HTTP/1.1") == 400);
    BOOST_TEST(status_of("Host: h\r\n", "GET /") == 400);
    BOOST_TEST(status_of("Host: h\r\n", "GET /a b HTTP/1.1") == 400);
    BOOST_TEST(status_of("Host: h\r\n", "G@T / HTTP/1.1") == 400);
    BOOST_TEST(status_of("Host: h\r\n", "GET x HTTP/1.1") == 400);
    BOOST_TEST(status_of("Host: h\r\n", "CONNECT h:1 HTTP/1.1") == 400);
}

BOOST_AUTO_TEST_CASE(long_targets_have_their_own_status) {
    BOOST_TEST(status_of("Host: h\r\n", "GET /" + std::string(1023, 'a') + " HTTP/1.1") == 0);
    BOOST_TEST(status_of("Host: h\r\n", "GET /" + std::string(1024, 'a') + " HTTP/1.1") == 414);
}

BOOST_AUTO_TEST_CASE(absolute_targets_become_paths_of_their_host) {
    const auto target_and_host = [](std::string target) {
        const parsed it{"GET " + target + " HTTP/1.1\r\nHost: header\r\n\r\n"};
        BOOST_REQUIRE(!it.fault);
        return std::string(it.head.target) + " " + std::string(*it.head.find("Host"));
    };

    BOOST_TEST(target_and_host("http://real:8/p?q") == "/p?q real:8");
    BOOST_TEST(target_and_host("HTTP://real") == "/ real");
    BOOST_TEST(target_and_host("http://real?q=1") == "/?q=1 real");
    BOOST_TEST(status_of("Host: h\r\n", "GET ftp://h/ HTTP/1.1") == 400);
    BOOST_TEST(status_of("Host: h\r\n", "OPTIONS * HTTP/1.1") == 0);
}

BOOST_AUTO_TEST_CASE(expectations_other_than_continue_fail) {
    BOOST_TEST(status_of("Host: h\r\nExpect: banana\r\n") == 417);
    BOOST_TEST(status_of("Host: h\r\nExpect: 100-continue, x\r\n") == 417);
}

BOOST_AUTO_TEST_CASE(connections_persist_as_the_version_says) {
    const auto keeps = [](std::string version, std::string connection) {
        const parsed it{"GET / HTTP/" + version + "\r\nHost: h\r\n" + connection + "\r\n"};
        BOOST_REQUIRE(!it.fault);
        return it.head.keep_alive;
    };

    BOOST_TEST(keeps("1.1", ""));
    BOOST_TEST(!keeps("1.1", "Connection: x, Close\r\n"));
    BOOST_TEST(!keeps("1.0", ""));
    BOOST_TEST(keeps("1.0", "Connection: Keep-Alive\r\n"));
}

BOOST_AUTO_TEST_CASE(upgrade_headers_are_lists_over_all_their_lines) {
    const auto fault = [](std::string headers, std::string line = "GET / HTTP/1.1") {
        const parsed it{line + "\r\nHost: h\r\n" + headers + "\r\n"};
        BOOST_REQUIRE(!it.fault);
        const auto found = streamld::net::upgrade_fault(it.head);
        return found ? found->status : 0;
    };
    const auto rest =
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"s;
    const auto upgrade = "Upgrade: websocket\r\n"s + rest;
    const auto both = "Upgrade: websocket\r\nConnection: upgrade\r\n"s;

    BOOST_TEST(fault(upgrade + "Connection: keep-alive, Upgrade\r\n") == 0);
    BOOST_TEST(fault(upgrade + "Connection: Upgrade, HTTP2-Settings\r\n") == 0);
    BOOST_TEST(fault(upgrade + "Connection: keep-alive\r\nConnection: upgrade\r\n") == 0);
    BOOST_TEST(fault(rest + "Upgrade: h2c, WebSocket\r\nConnection: upgrade\r\n") == 0);
    BOOST_TEST(fault(upgrade + "Connection: keep-alive\r\n") == 426);
    BOOST_TEST(fault(upgrade + "Connection: upgraded\r\n") == 426);
    BOOST_TEST(fault(upgrade) == 426);
    BOOST_TEST(fault(upgrade + "Connection: upgrade\r\n", "GET / HTTP/1.0") == 426);
    BOOST_TEST(fault(both + "Sec-WebSocket-Version: 8\r\n") == 426);
    BOOST_TEST(fault(both + "Sec-WebSocket-Version: 13\r\n") == 400);
    BOOST_TEST(fault(both + "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: short==\r\n") == 400);
    BOOST_TEST(fault(both + rest, "POST / HTTP/1.1") == 400);
}

BOOST_AUTO_TEST_SUITE_END()
