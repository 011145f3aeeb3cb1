#include "net/http_connection.hpp"

#include "support/gateway/http_session.hpp"

#include <boost/test/unit_test.hpp>

#include <string>

namespace {

using streamld::test::count_of;
using streamld::test::http_session;

const std::string get = "GET /a HTTP/1.1\r\nHost: h\r\n\r\n";

} // namespace

BOOST_AUTO_TEST_SUITE(net_http_connection)

BOOST_AUTO_TEST_CASE(pipelined_requests_are_answered_in_order) {
    http_session it;

    BOOST_TEST(it.peers.send(
        get + "POST /b HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nxyz" +
        "POST /c HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nq\r\n0\r\n\r\n" + get
    ));

    BOOST_TEST(it.peers.until_received("POST /c [q]"));
    BOOST_TEST(it.shard.until([&] { return it.seen.size() == 4; }));
    BOOST_TEST(it.seen[0] == "GET /a []");
    BOOST_TEST(it.seen[1] == "POST /b [xyz]");
    BOOST_TEST(it.seen[2] == "POST /c [q]");
    BOOST_TEST(it.seen[3] == "GET /a []");
    BOOST_TEST(!it.peers.has_ended);
}

BOOST_AUTO_TEST_CASE(a_request_may_come_byte_by_byte) {
    http_session it;

    BOOST_TEST(it.peers.send_byte_by_byte(
        "\r\nPOST /b HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
        "3;e=1\r\nxyz\r\n0\r\nT: u\r\n\r\n" +
        get
    ));

    BOOST_TEST(it.peers.until_received("GET /a []"));
    BOOST_TEST(it.seen[0] == "POST /b [xyz]");
}

BOOST_AUTO_TEST_CASE(an_answer_is_complete) {
    http_session it;
    it.peers.send(get);
    BOOST_TEST(it.peers.until_received("[]"));

    BOOST_TEST(it.peers.received.starts_with("HTTP/1.1 200 OK\r\n"));
    BOOST_TEST(count_of(it.peers.received, "\r\nDate: ") == 1);
    BOOST_TEST(count_of(it.peers.received, " GMT\r\n") == 1);
    BOOST_TEST(count_of(it.peers.received, "\r\nContent-Length: 9\r\n") == 1);
    BOOST_TEST(count_of(it.peers.received, "Connection:") == 0);
    BOOST_TEST(it.shard.counters.answers[2].value() == 1U);
}

BOOST_AUTO_TEST_CASE(head_has_the_length_and_no_body) {
    http_session it;

    it.peers.send("HEAD /a HTTP/1.1\r\nHost: h\r\n\r\n" + get);

    BOOST_TEST(it.peers.until_received("GET /a []"));
    BOOST_TEST(count_of(it.peers.received, "Content-Length: 10\r\n") == 1);
    BOOST_TEST(count_of(it.peers.received, "HEAD /a") == 0);
}

BOOST_AUTO_TEST_CASE(no_content_has_no_length) {
    http_session it;
    it.status = 204;

    it.peers.send(get);

    BOOST_TEST(it.peers.until_received("\r\n\r\n"));
    BOOST_TEST(count_of(it.peers.received, "Content-Length") == 0);
    BOOST_TEST(it.peers.received.ends_with("\r\n\r\n"));
}

BOOST_AUTO_TEST_CASE(version_1_0_closes_unless_asked) {
    http_session closing;
    closing.peers.send("GET /a HTTP/1.0\r\n\r\n");
    BOOST_TEST(closing.peers.until_received("[]"));
    BOOST_TEST(count_of(closing.peers.received, "Connection: close\r\n") == 1);
    closing.peers.shut_down_sending();
    BOOST_TEST(closing.peers.until_ended());

    http_session keeping;
    const std::string keep = "GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n";
    keeping.peers.send(keep + keep);
    BOOST_TEST(keeping.shard.until([&] { return keeping.seen.size() == 2; }));
    BOOST_TEST(keeping.peers.until_received("[]"));
    BOOST_TEST(count_of(keeping.peers.received, "Connection: keep-alive\r\n") == 2);
}

BOOST_AUTO_TEST_CASE(connection_close_is_honoured) {
    http_session it;

    it.peers.send("GET /a HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n" + get);

    BOOST_TEST(it.peers.until_ended());
    BOOST_TEST(!it.peers.was_reset);
    BOOST_TEST(it.seen.size() == 1U);
    BOOST_TEST(count_of(it.peers.received, "Connection: close\r\n") == 1);
}

BOOST_AUTO_TEST_CASE(continue_is_said_only_when_the_body_is_wanted) {
    const std::string head =
        "POST /a HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: ";

    http_session wanted;
    wanted.peers.send(head + "3\r\n\r\n");
    BOOST_TEST(wanted.peers.until_received("HTTP/1.1 100 Continue\r\n\r\n"));
    wanted.peers.send("abc");
    BOOST_TEST(wanted.peers.until_received("POST /a [abc]"));

    http_session unwanted;
    unwanted.peers.send(head + "1000000\r\n\r\n");
    BOOST_TEST(unwanted.peers.until_received("too_large"));
    BOOST_TEST(unwanted.peers.received.starts_with("HTTP/1.1 413 "));
    BOOST_TEST(count_of(unwanted.peers.received, "Connection: close\r\n") == 1);
    BOOST_TEST(count_of(unwanted.peers.received, "100 Continue") == 0);
}

BOOST_AUTO_TEST_CASE(a_refusal_is_heard_by_who_sends_all_first) {
    for (const bool is_chunked : {false, true}) {
        http_session it;
        const std::string block(1 << 20, 'x');
        it.peers.send(
            "POST /a HTTP/1.1\r\nHost: h\r\n" +
            std::string(is_chunked ? "Transfer-Encoding: chunked" : "Content-Length: 52428800") +
            "\r\n\r\n"
        );

        bool is_sent = true;
        for (int i = 0; i < 50 && is_sent; ++i) {
            is_sent = it.peers.send(is_chunked ? "100000\r\n" + block + "\r\n" : block);
        }
        if (is_chunked) it.peers.send("0\r\n\r\n");
        it.peers.shut_down_sending();

        BOOST_TEST(is_sent);
        BOOST_TEST(it.peers.until_ended());
        BOOST_TEST(!it.peers.was_reset);
        BOOST_TEST(it.peers.received.starts_with("HTTP/1.1 413 Content Too Large\r\n"));
        BOOST_TEST(count_of(it.peers.received, "Connection: close\r\n") == 1);
    }
}

BOOST_AUTO_TEST_CASE(bad_heads_are_told_and_closed) {
    const std::pair<std::string, int> cases[] = {
        {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
         400},
        {"GET / HTTP/1.1\r\n\r\n", 400},
        {"GET / HTTP/1.1\nHost: h\n\n", 400},
        {"\x16\x03\x01", 400},
        {"GET /" + std::string(70 * 1024, 'a') + " HTTP/1.1\r\nHost: h\r\n\r\n", 414},
        {"GET / HTTP/1.1\r\nHost: h\r\nX: " + std::string(70 * 1024, 'a') + "\r\n\r\n", 431},
        {"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip\r\n\r\n", 501},
        {"POST / HTTP/1.1\r\nHost: h\r\nExpect: banana\r\nContent-Length: 1\r\n\r\nx", 417},
    };
    for (const auto& [bytes, status] : cases) {
        http_session it;

        it.peers.send(bytes);
        it.peers.shut_down_sending();

        BOOST_TEST(it.peers.until_ended());
        BOOST_TEST(!it.peers.was_reset);
        BOOST_TEST(
            it.peers.received.starts_with("HTTP/1.1 " + std::to_string(status)), bytes.substr(0, 60)
        );
        BOOST_TEST(count_of(it.peers.received, "Connection: close\r\n") == 1);
    }
}

BOOST_AUTO_TEST_CASE(a_cut_or_malformed_body_is_no_body) {
    http_session cut;
    cut.peers.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nabc");
    cut.peers.shut_down_sending();
    BOOST_TEST(cut.peers.until_received("cut"));

    http_session cut_chunk;
    cut_chunk.peers.send("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab");
    cut_chunk.peers.shut_down_sending();
    BOOST_TEST(cut_chunk.peers.until_received("cut"));

    http_session malformed;
    malformed.peers.send("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n");
    BOOST_TEST(malformed.peers.until_received("malformed"));
    BOOST_TEST(count_of(malformed.peers.received, "Connection: close\r\n") == 1);
}

BOOST_AUTO_TEST_CASE(slow_clients_meet_their_deadlines) {
    http_session idle;
    idle.limits.idle_timeout = std::chrono::milliseconds{20};
    BOOST_TEST(idle.peers.until_ended());
    BOOST_TEST(idle.peers.received.empty());

    http_session slow_head;
    slow_head.limits.head_timeout = std::chrono::milliseconds{20};
    slow_head.peers.send("GET / HT");
    BOOST_TEST(slow_head.peers.until_received("HTTP/1.1 408 "));

    http_session slow_body;
    slow_body.limits.body_timeout = std::chrono::milliseconds{20};
    slow_body.peers.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nabc");
    BOOST_TEST(slow_body.peers.until_received("timed_out"));
}

BOOST_AUTO_TEST_CASE(draining_closes_the_idle_and_says_so_to_the_busy) {
    http_session idle;
    idle.shard.settle();
    idle.connection.begin_drain();
    BOOST_TEST(idle.peers.until_ended());
    BOOST_TEST(idle.peers.received.empty());

    http_session busy;
    busy.peers.send("GET / HT");
    busy.shard.settle();
    busy.connection.begin_drain();
    busy.peers.send("TP/1.1\r\nHost: h\r\n\r\n");
    BOOST_TEST(busy.peers.until_received("[]"));
    BOOST_TEST(count_of(busy.peers.received, "Connection: close\r\n") == 1);
}

BOOST_AUTO_TEST_CASE(a_client_that_never_reads_is_given_up) {
    http_session it{8 * 1024};
    it.limits.write_timeout = std::chrono::milliseconds{30};
    it.padding_bytes = 8 << 20;

    it.peers.send(get);

    BOOST_TEST(it.shard.until([&] { return it.shard.children.size() == 0; }));
}

BOOST_AUTO_TEST_CASE(an_aborted_connection_ends_its_session) {
    http_session it;
    it.shard.settle();

    it.connection.abort();

    BOOST_TEST(it.shard.until([&] { return it.shard.children.size() == 0; }));
    BOOST_TEST(it.shard.counters.connections() == 1U);
}

BOOST_AUTO_TEST_SUITE_END()
