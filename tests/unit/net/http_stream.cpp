// Streams over http_connection: answers without a known length, as SSE and NDJSON use them.
#include "net/http_connection.hpp"
#include "support/gateway/http_session.hpp"

#include <boost/test/unit_test.hpp>

#include <optional>
#include <string>

namespace {

namespace asio = boost::asio;
using streamld::net::connection_limits;
using streamld::net::http_connection;
using streamld::net::piece;
using streamld::net::response;
using streamld::test::count_of;
using streamld::test::loopback;
using streamld::test::shard_loop;

class stream_session {
public:
    shard_loop shard;
    connection_limits limits;
    loopback peers;
    std::optional<http_connection> connection;

    explicit stream_session(int buffer_bytes = 0) : peers(shard, buffer_bytes) {
        limits.write_timeout = std::chrono::milliseconds{500};
        connection.emplace(
            std::move(peers.server),
            streamld::net::connection_context{shard.shard_turn, shard.dog, shard.counters, limits}
        );
    }

    ~stream_session() {
        if (connection) connection->abort();
        shard.until([this] { return shard.children.size() == 0; });
    }

    void begin(std::string request_line, bool chunked) {
        peers.send(request_line + "\r\nHost: h\r\n\r\n");
        shard.run(read_and_begin(chunked));
    }

    void push(std::string_view text) { connection->push_body(piece{nullptr, text}); }

    void end() { shard.children.spawn("end", connection->end_stream()); }

private:
    asio::awaitable<void> read_and_begin(bool chunked) {
        const auto state = co_await connection->read_head();
        BOOST_TEST((state == streamld::net::head_state::ready));
        response head{200};
        head.set("Content-Type", "text/event-stream");
        connection->begin_stream(std::move(head), chunked);
    }
};

} // namespace

BOOST_AUTO_TEST_SUITE(net_http_stream)

BOOST_AUTO_TEST_CASE(the_head_leaves_at_once_and_the_end_ends_the_body) {
    stream_session it;

    it.begin("GET / HTTP/1.1", false);

    BOOST_TEST(it.peers.until_received("\r\n\r\n"));
    BOOST_TEST(count_of(it.peers.received, "Connection: close\r\n") == 1);
    BOOST_TEST(count_of(it.peers.received, "Content-Length") == 0);
    BOOST_TEST(!it.connection->is_chunked());
    it.push("data: 1\n\n");
    it.push("data: 2\n\n");
    BOOST_TEST(it.peers.until_received("\r\n\r\ndata: 1\n\ndata: 2\n\n"));
    it.end();
    BOOST_TEST(it.peers.until_ended());
    BOOST_TEST(!it.peers.was_reset);
}

BOOST_AUTO_TEST_CASE(chunks_frame_the_parts_where_the_client_speaks_1_1) {
    stream_session it;

    it.begin("GET / HTTP/1.1", true);
    it.push("0123456789abcdef");
    it.push("x");
    it.end();

    BOOST_TEST(it.peers.until_ended());
    BOOST_TEST(count_of(it.peers.received, "Transfer-Encoding: chunked\r\n") == 1);
    BOOST_TEST(it.peers.received.ends_with("\r\n\r\n10\r\n0123456789abcdef\r\n1\r\nx\r\n0\r\n\r\n")
    );
}

BOOST_AUTO_TEST_CASE(version_1_0_and_head_get_no_chunks) {
    stream_session old;
    old.begin("GET / HTTP/1.0", true);
    old.push("x");
    old.end();
    BOOST_TEST(old.peers.until_ended());
    BOOST_TEST(old.peers.received.ends_with("\r\n\r\nx"));

    stream_session head;
    head.begin("HEAD / HTTP/1.1", true);
    head.push("x");
    head.end();
    BOOST_TEST(head.peers.until_ended());
    BOOST_TEST(head.peers.received.ends_with("\r\n\r\n"));
}

BOOST_AUTO_TEST_CASE(the_peers_leaving_closes_the_outbox) {
    stream_session it;
    it.begin("GET / HTTP/1.1", false);
    it.peers.send("ignored");
    it.shard.settle();
    BOOST_TEST(!it.connection->out().is_closed());

    it.peers.close();

    BOOST_TEST(it.shard.until([&] { return it.connection->out().is_closed(); }));
    it.end();
    BOOST_TEST(it.shard.until([&] { return it.shard.children.size() == 0; }));
}

BOOST_AUTO_TEST_CASE(a_peer_that_talks_without_end_is_closed) {
    stream_session it;
    it.begin("GET / HTTP/1.1", false);

    it.peers.send(std::string(100 * 1024, 'x'));

    BOOST_TEST(it.shard.until([&] { return it.connection->out().is_closed(); }));
}

BOOST_AUTO_TEST_CASE(a_write_without_progress_closes_the_outbox) {
    stream_session it{8 * 1024};
    it.begin("GET / HTTP/1.1", false);
    const auto block = std::make_shared<const std::string>(1 << 20, 'x');
    while (it.connection->out().is_ready()) {
        it.connection->push_body(piece{block, *block});
        it.shard.settle();
    }

    BOOST_TEST(it.shard.until([&] { return it.connection->out().is_closed(); }));
    it.end();
    BOOST_TEST(it.shard.until([&] { return it.shard.children.size() == 0; }));
}

BOOST_AUTO_TEST_CASE(it_may_be_destroyed_in_the_middle) {
    stream_session it;
    it.begin("GET / HTTP/1.1", true);
    it.push("x");

    it.connection.reset();
    it.shard.settle();

    BOOST_TEST(it.peers.until_ended());
    BOOST_TEST(it.shard.counters.connections() == 0U);
}

BOOST_AUTO_TEST_SUITE_END()
