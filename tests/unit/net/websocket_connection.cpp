#include "net/websocket_connection.hpp"

#include "support/gateway/websocket_session.hpp"

#include <boost/test/unit_test.hpp>

#include <string>

namespace {

using streamld::test::client_frame;
using streamld::test::from_hex;
using streamld::test::websocket_session;
using std::string_literals::operator""s;

constexpr int text = 0x81;
constexpr int close_op = 0x88;
constexpr int ping = 0x89;
constexpr int pong = 0x8a;

std::string close_payload(int code) {
    return {static_cast<char>(code >> 8), static_cast<char>(code & 0xff)};
}

// The code of the server's close after these bytes.
int answered_with(std::string_view bytes) {
    websocket_session it;
    BOOST_TEST(it.open());
    it.peers.send(bytes);
    const int code = it.close_code();
    it.peers.shut_down_sending();
    BOOST_TEST(it.until_over());
    BOOST_TEST(!it.peers.was_reset);
    BOOST_TEST(it.socket->ending() == "protocol");
    return code;
}

} // namespace

BOOST_AUTO_TEST_SUITE(net_websocket_connection)

BOOST_AUTO_TEST_CASE(the_handshake_reads_lists_and_answers_exactly) {
    for (const auto* const connection :
         {"Connection: keep-alive, Upgrade\r\n",
          "Connection: Upgrade, HTTP2-Settings\r\n",
          "Connection: upgrade\r\n",
          "Connection: keep-alive\r\nConnection: Upgrade\r\n"}) {
        websocket_session it;
        it.subprotocol = "streamld";

        it.peers.send(it.handshake(connection));

        BOOST_TEST(it.peers.until_received("\r\n\r\n"));
        const auto& answer = it.peers.received;
        BOOST_TEST(answer.starts_with("HTTP/1.1 101 Switching Protocols\r\n"));
        BOOST_TEST(
            answer.find("Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n") != answer.npos
        );
        BOOST_TEST(answer.find("Sec-WebSocket-Protocol: streamld\r\n") != answer.npos);
        BOOST_TEST(answer.find("Beast") == answer.npos);
    }
    websocket_session refused;
    refused.peers.send(refused.handshake("Connection: keep-alive\r\n"));
    BOOST_TEST(refused.peers.until_received("HTTP/1.1 426 "));
}

BOOST_AUTO_TEST_CASE(offers_of_compression_are_answered_by_none) {
    for (const auto* const offer :
         {"permessage-deflate; server_max_window_bits=8",
          "permessage-deflate; server_max_window_bits=15",
          "permessage-deflate; client_max_window_bits",
          "permessage-deflate; server_no_context_takeover",
          "permessage-deflate; foo=1",
          "permessage-deflate; foo=1; foo=1",
          "x-unknown, permessage-deflate"}) {
        websocket_session it;

        it.peers.send(
            it.handshake("Connection: Upgrade\r\nSec-WebSocket-Extensions: "s + offer + "\r\n")
        );

        BOOST_TEST(it.peers.until_received("\r\n\r\n"));
        BOOST_TEST(it.peers.received.starts_with("HTTP/1.1 101 "));
        BOOST_TEST(it.peers.received.find("Extensions") == std::string::npos);
    }
}

BOOST_AUTO_TEST_CASE(frames_right_behind_the_handshake_are_kept) {
    websocket_session it;

    it.peers.send(it.handshake() + client_frame(text, "early") + client_frame(text, "bird"));

    BOOST_TEST(it.shard.until([&] { return it.texts.size() == 2; }));
    BOOST_TEST(it.texts[0] == "early");
    BOOST_TEST(it.texts[1] == "bird");
}

BOOST_AUTO_TEST_CASE(a_ping_between_fragments_is_answered_and_nothing_else) {
    const auto bytes = from_hex("018a000000007b2273747265616d223a89820000000068698"
                                "08e000000002274222c226166746572223a307d");
    for (const bool is_slow : {false, true}) {
        websocket_session it;
        BOOST_TEST(it.open());

        BOOST_TEST((is_slow ? it.peers.send_byte_by_byte(bytes) : it.peers.send(bytes)));

        BOOST_TEST(it.shard.until([&] { return it.texts.size() == 1; }));
        BOOST_TEST(it.texts[0] == R"({"stream":"t","after":0})");
        BOOST_TEST(it.until_frame(pong));
        BOOST_TEST(it.last_frame(pong)->payload == "hi");
    }
}

BOOST_AUTO_TEST_CASE(broken_framing_is_1002) {
    BOOST_TEST(answered_with(client_frame(0x09, "x")) == 1002); // A ping in parts.
    BOOST_TEST(
        answered_with(client_frame(ping, std::string(126, 'p'))) == 1002
    );                                                                 // A ping too long.
    BOOST_TEST(answered_with(client_frame(0x80, "x")) == 1002);        // Nothing to continue.
    BOOST_TEST(answered_with(client_frame(0xc1, "{}")) == 1002);       // Compressed, unasked.
    BOOST_TEST(answered_with("\x81\x02{}") == 1002);                   // Without a mask.
    BOOST_TEST(answered_with(client_frame(0x83, "x")) == 1002);        // An unknown opcode.
    BOOST_TEST(answered_with(client_frame(close_op, "\x03")) == 1002); // Half a code.
}

BOOST_AUTO_TEST_CASE(text_is_utf8_across_fragments) {
    const auto halves =
        from_hex("018c000000007b2273747265616d223a22c3808d00000000a9222c226166746572223a307d");
    for (const bool is_slow : {false, true}) {
        websocket_session it;
        BOOST_TEST(it.open());

        BOOST_TEST((is_slow ? it.peers.send_byte_by_byte(halves) : it.peers.send(halves)));

        BOOST_TEST(it.shard.until([&] { return it.texts.size() == 1; }));
        BOOST_TEST(it.texts[0] == "{\"stream\":\"\xc3\xa9\",\"after\":0}");
    }
    BOOST_TEST(
        answered_with(from_hex("8198000000007b2273747265616d223a22ff222c226166746572223a307d")) ==
        1007
    );
}

BOOST_AUTO_TEST_CASE(messages_over_the_limit_are_1009) {
    const std::string most(websocket_session::message_bytes_max, 'm');
    websocket_session it;
    BOOST_TEST(it.open());
    it.peers.send(client_frame(text, most));
    BOOST_TEST(it.shard.until([&] { return it.texts.size() == 1; }));
    BOOST_TEST((it.texts[0] == most));

    BOOST_TEST(answered_with(client_frame(text, most + "!")) == 1009);
    BOOST_TEST(answered_with(client_frame(0x01, most) + client_frame(0x80, "!")) == 1009);
}

BOOST_AUTO_TEST_CASE(binary_is_seen_as_such) {
    websocket_session it;
    BOOST_TEST(it.open());

    it.peers.send(client_frame(0x82, "b"));

    BOOST_TEST(it.close_code() == 1003);
    it.peers.send(client_frame(close_op, close_payload(1003)));
    BOOST_TEST(it.until_over());
    BOOST_TEST(it.socket->ending() == "server");
}

BOOST_AUTO_TEST_CASE(the_peers_close_is_answered_once_and_ends_what_is_pushed) {
    websocket_session it;
    BOOST_TEST(it.open());

    it.peers.send(client_frame(close_op, close_payload(1001)));
    BOOST_TEST(it.close_code() == 1001);
    it.socket->send_text("too late");
    it.socket->start_close(1011, "too late");
    BOOST_TEST(it.socket->out().is_closed());
    it.peers.shut_down_sending();

    BOOST_TEST(it.until_over());
    BOOST_TEST(it.frames().size() == 1U);
    BOOST_TEST(it.socket->ending() == "client");
    BOOST_TEST(it.peers.until_ended());
    BOOST_TEST(!it.peers.was_reset);
}

BOOST_AUTO_TEST_CASE(our_close_comes_behind_the_data_and_once) {
    websocket_session it;
    BOOST_TEST(it.open());
    it.socket->send_text("first");
    it.socket->start_close(1012, std::string(121, 'r') + "\xc3\xa9\xc3\xa9");
    it.socket->send_text("too late");
    it.socket->start_close(1000, "again");

    BOOST_TEST(it.close_code() == 1012);
    it.peers.send(client_frame(text, "ignored") + client_frame(close_op, close_payload(1012)));

    BOOST_TEST(it.until_over());
    const auto frames = it.frames();
    BOOST_REQUIRE(frames.size() == 2U);
    BOOST_TEST(frames[0].payload == "first");
    // The reason is cut between characters.
    BOOST_TEST(frames[1].payload.size() == 2U + 123U);
    BOOST_TEST(frames[1].payload.ends_with("\xc3\xa9"));
    BOOST_TEST(it.texts.empty());
    BOOST_TEST(it.socket->ending() == "server");
}

BOOST_AUTO_TEST_CASE(a_peer_that_does_not_answer_our_close_is_left) {
    websocket_session it;
    BOOST_TEST(it.open());

    it.socket->start_close(1012, "");

    BOOST_TEST(it.until_over());
    BOOST_TEST(it.peers.until_ended());
}

BOOST_AUTO_TEST_CASE(a_peer_that_vanishes_ends_it) {
    websocket_session it;
    BOOST_TEST(it.open());

    it.peers.close();

    BOOST_TEST(it.shard.until([&] { return it.is_over; }));
    BOOST_TEST(it.socket->ending() == "client");
    BOOST_TEST(it.socket->out().is_closed());
}

BOOST_AUTO_TEST_CASE(silence_is_asked_about_and_then_taken_for_death) {
    websocket_session it;
    it.limits.ping_interval = std::chrono::milliseconds{30};
    BOOST_TEST(it.open());

    BOOST_TEST(it.until_over());

    const auto frames = it.frames();
    BOOST_TEST(frames.size() == 2U);
    for (const auto& each : frames) {
        BOOST_TEST(each.first_byte == ping);
        BOOST_TEST(each.payload.empty());
    }
    BOOST_TEST(it.socket->ending() == "timeout");
}

BOOST_AUTO_TEST_CASE(a_peer_that_answers_pings_lives) {
    websocket_session it;
    it.limits.ping_interval = std::chrono::milliseconds{30};
    BOOST_TEST(it.open());
    std::size_t answered = 0;

    BOOST_TEST(it.shard.until([&] {
        for (; answered < it.frames().size(); ++answered) {
            it.peers.send(client_frame(pong, ""));
        }
        return answered >= 5 || it.is_over;
    }));

    BOOST_TEST(!it.is_over);
}

BOOST_AUTO_TEST_CASE(a_peer_that_stops_reading_is_told_1013_and_left) {
    websocket_session it{8 * 1024};
    it.limits.write_timeout = std::chrono::milliseconds{30};
    BOOST_TEST(it.open());
    const std::string big(1024 * 1024, 'x');
    while (it.socket->out().is_ready()) {
        it.socket->send_text(big);
        it.shard.settle();
    }

    BOOST_TEST(it.shard.until([&] { return it.is_over; }));

    BOOST_TEST(it.socket->ending() == "stuck");
}

BOOST_AUTO_TEST_CASE(a_peer_that_lags_is_judged_by_its_writes_and_not_by_pings) {
    websocket_session it{8 * 1024};
    it.limits.ping_interval = std::chrono::milliseconds{30};
    BOOST_TEST(it.open());
    const std::string big(1024 * 1024, 'x');
    while (it.socket->out().is_ready()) {
        it.socket->send_text(big);
        it.shard.settle();
    }

    // Many times what a silent peer is given.
    const std::chrono::milliseconds patience{500};
    BOOST_TEST(!it.shard.until([&] { return it.is_over; }, patience));

    BOOST_TEST(it.socket->ending() == "");
}

BOOST_AUTO_TEST_CASE(control_frames_never_cut_a_burst_of_texts) {
    websocket_session it{16 * 1024};
    BOOST_TEST(it.open());
    std::string expected;
    int pushed = 0;
    int pinged = 0;
    const auto pings = client_frame(ping, "p") + client_frame(ping, "q");

    BOOST_TEST(it.shard.until([&] {
        for (int i = 0; i < 50 && pushed < 3000 && it.socket->out().is_ready(); ++i, ++pushed) {
            it.socket->send_text(std::string(200, static_cast<char>('a' + pushed % 26)));
        }
        if (pinged < 100) {
            it.peers.send(pings);
            pinged += 2;
        }
        it.peers.read(4000);
        return pushed == 3000;
    }));
    it.socket->start_close(1000, "");

    BOOST_TEST(it.close_code() == 1000);
    int texts = 0;
    int pongs = 0;
    for (const auto& each : it.frames()) {
        if (each.first_byte == text) {
            BOOST_TEST((each.payload == std::string(200, static_cast<char>('a' + texts % 26))));
            ++texts;
        } else if (each.first_byte == pong) {
            ++pongs;
        }
    }
    BOOST_TEST(texts == 3000);
    BOOST_TEST(pongs > 0);
}

BOOST_AUTO_TEST_CASE(a_flood_of_pings_without_reading_does_not_gather_here) {
    websocket_session it{8 * 1024};
    BOOST_TEST(it.open());
    std::string flood;
    for (int i = 0; i < 20'000; ++i) {
        flood += client_frame(ping, std::string(125, 'p'));
    }

    std::size_t most = 0;
    const auto look = [&] { most = std::max(most, it.socket->out().pending_bytes()); };

    it.peers.send_blindly(flood, look);
    BOOST_TEST(it.shard.until([&] { return it.socket->out().pending_bytes() > 0; }));
    for (int i = 0; i < 100; ++i) {
        it.shard.settle();
        look();
    }

    BOOST_TEST(most > 0U);
    BOOST_TEST(most <= it.limits.outbox_high_water + 127);
}

BOOST_AUTO_TEST_CASE(it_may_be_destroyed_while_a_pong_waits) {
    // The session's coroutine owns the read; here it is cancelled while Beast waits for the outbox.
    websocket_session it{8 * 1024};
    BOOST_TEST(it.open());
    const std::string big(1024 * 1024, 'x');
    while (it.socket->out().is_ready()) {
        it.socket->send_text(big);
        it.shard.settle();
    }
    it.peers.send_blindly(client_frame(ping, "p"), [] {});

    it.socket->abort();

    BOOST_TEST(it.shard.until([&] { return it.is_over; }));
}

BOOST_AUTO_TEST_SUITE_END()
