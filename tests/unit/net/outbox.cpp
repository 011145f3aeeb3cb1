#include "net/outbox.hpp"

#include "support/gateway/loopback.hpp"

#include <boost/test/unit_test.hpp>

#include <memory>
#include <optional>
#include <string>

namespace {

namespace asio = boost::asio;
using streamld::wakeup;
using streamld::net::outbox;
using streamld::net::piece;
using streamld::test::loopback;
using streamld::test::shard_loop;

struct connected {
    shard_loop shard;
    loopback peers;
    std::optional<outbox> box;

    explicit connected(int buffer_bytes = 0) : peers(shard, buffer_bytes) {
        box.emplace(peers.server, shard.shard_turn, shard.counters, 64 * 1024);
    }

    /// More than the kernel takes.
    void overfill() {
        const auto block = std::make_shared<const std::string>(64 * 1024, 'x');
        do {
            box->push(piece{block, *block});
            shard.settle();
        } while (box->is_ready());
    }
};

asio::awaitable<void> wait_until_drained(outbox& box, std::optional<bool>& all_sent) {
    all_sent = co_await box.drained();
}

asio::awaitable<void> wait_until_ready(outbox& box, streamld::turn& owner, int& wakes) {
    wakeup waking{owner};
    box.watch(waking);
    while (!box.is_ready() && !box.is_closed()) {
        co_await waking.wait();
        ++wakes;
    }
    box.unwatch(waking);
}

} // namespace

BOOST_AUTO_TEST_SUITE(net_outbox)

BOOST_AUTO_TEST_CASE(a_burst_leaves_in_order_and_in_one_call) {
    connected it;
    std::string expected;
    for (int i = 0; i < 100; ++i) {
        it.box->push_copy(std::to_string(i) + ";");
        expected += std::to_string(i) + ";";
    }
    BOOST_TEST(it.shard.counters.send_calls.value() == 0U);

    BOOST_TEST(it.peers.until_received("99;"));

    BOOST_TEST(it.peers.received == expected);
    BOOST_TEST(it.shard.counters.send_calls.value() == 1U);
    BOOST_TEST(it.shard.counters.sent_bytes.value() == expected.size());
    BOOST_TEST(it.box->pending_bytes() == 0U);
    BOOST_TEST((it.box->stuck_since() == outbox::clock::time_point::max()));
}

BOOST_AUTO_TEST_CASE(neighbours_of_one_owner_are_joined) {
    connected it;
    const auto text = std::make_shared<const std::string>("abcdef");
    const std::string_view whole = *text;

    it.box->push(piece{text, whole.substr(0, 2)});
    it.box->push(piece{text, whole.substr(2, 2)});
    it.box->push(piece{text, whole.substr(0, 1)});
    it.box->push(piece{text, whole.substr(4)});

    BOOST_TEST(it.peers.until_received("ef"));
    BOOST_TEST(it.peers.received == "abcdaef");
}

BOOST_AUTO_TEST_CASE(flush_sends_at_once) {
    connected it;

    it.box->push_copy("now");
    it.box->flush();

    BOOST_TEST(it.box->pending_bytes() == 0U);
    BOOST_TEST(it.peers.until_received("now"));
    BOOST_TEST(it.shard.counters.send_calls.value() == 1U);
}

BOOST_AUTO_TEST_CASE(a_slow_reader_makes_the_pusher_wait_and_gets_everything) {
    connected it{8 * 1024};
    it.overfill();
    it.box->push_copy("end");
    BOOST_TEST(!it.box->is_ready());
    BOOST_TEST((it.box->stuck_since() <= outbox::clock::now()));
    const auto waiting = it.box->pending_bytes();
    const auto sent = it.shard.counters.sent_bytes.value();
    int wakes = 0;
    std::optional<bool> all_sent;

    it.shard.children.spawn("ready", wait_until_ready(*it.box, it.shard.shard_turn, wakes));
    it.shard.children.spawn("drained", wait_until_drained(*it.box, all_sent));
    it.shard.settle();
    BOOST_TEST(wakes == 0);
    BOOST_TEST(it.peers.until_received("end"));
    it.shard.settle();

    BOOST_TEST(it.peers.received.size() == sent + waiting);
    BOOST_TEST(wakes == 1);
    BOOST_TEST((all_sent == true));
}

BOOST_AUTO_TEST_CASE(closing_wakes_who_waits_and_drops_what_is_queued) {
    connected it{8 * 1024};
    it.overfill();
    int wakes = 0;
    std::optional<bool> all_sent;
    it.shard.children.spawn("ready", wait_until_ready(*it.box, it.shard.shard_turn, wakes));
    it.shard.children.spawn("drained", wait_until_drained(*it.box, all_sent));
    it.shard.settle();

    it.box->close();
    it.box->push_copy("ignored");
    it.shard.settle();

    BOOST_TEST(wakes == 1);
    BOOST_TEST((all_sent == false));
    BOOST_TEST(it.box->pending_bytes() == 0U);
    BOOST_TEST(it.shard.children.size() == 0U);
}

BOOST_AUTO_TEST_CASE(it_may_be_destroyed_while_queued_or_blocked) {
    connected queued;
    queued.box->push_copy("never");
    queued.box.reset();
    queued.shard.settle();

    connected blocked{8 * 1024};
    blocked.overfill();
    blocked.box.reset();
    blocked.peers.read();
    blocked.shard.settle();

    queued.peers.read();
    BOOST_TEST(queued.peers.received.empty());
}

BOOST_AUTO_TEST_CASE(a_peer_that_is_gone_closes_it) {
    connected it;
    it.peers.close();

    BOOST_TEST(it.shard.until([&] {
        it.box->push_copy("x");
        return it.box->is_closed();
    }));
}

BOOST_AUTO_TEST_CASE(sealed_it_sends_what_is_queued_and_takes_no_more) {
    connected it;

    it.box->push_copy("last word");
    it.box->seal();
    it.box->push_copy("afterthought");

    BOOST_TEST(it.box->is_closed());
    BOOST_TEST(it.peers.until_received("last word"));
    it.shard.settle();
    it.peers.read();
    BOOST_TEST(it.peers.received == "last word");
}

BOOST_AUTO_TEST_CASE(what_has_begun_is_finished_when_the_rest_is_dropped) {
    connected it{8 * 1024};
    const auto block = std::make_shared<const std::string>(1024 * 1024, 'x');
    it.box->push(piece{block, *block});
    it.box->push_copy("dropped");
    it.shard.settle();
    BOOST_TEST(it.box->pending_bytes() > 0U);

    it.box->keep_only_started();
    it.box->push_copy("end");

    BOOST_TEST(it.peers.until_received("end"));
    BOOST_TEST(it.peers.received == *block + "end");
}

BOOST_AUTO_TEST_CASE(a_thousand_pieces_arrive_whole_through_a_narrow_pipe) {
    connected it{4 * 1024};
    std::string expected;
    for (int i = 0; i < 3000; ++i) {
        const auto text = "piece " + std::to_string(i) + std::string(200, '.');
        it.box->push_copy(text);
        expected += text;
    }
    it.box->push_copy("#");
    expected += '#';

    BOOST_TEST(it.peers.until_received("#"));

    BOOST_TEST((it.peers.received == expected));
}

BOOST_AUTO_TEST_SUITE_END()
