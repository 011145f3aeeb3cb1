#include "base/nursery.hpp"

#include "support/gateway/shard_loop.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/test/unit_test.hpp>

#include <stdexcept>

namespace {

namespace asio = boost::asio;
using streamld::wakeup;
using streamld::test::shard_loop;

asio::awaitable<void> wait_once(wakeup& waking) {
    co_await waking.wait();
}

asio::awaitable<void> fail() {
    throw std::runtime_error{"a bug"};
    co_return;
}

asio::awaitable<void> sleep_for_an_hour(asio::io_context& loop) {
    asio::steady_timer timer{loop, std::chrono::hours{1}};
    co_await timer.async_wait(asio::use_awaitable);
}

asio::awaitable<void> join(shard_loop& shard, bool& has_joined) {
    co_await shard.children.join();
    has_joined = true;
}

asio::awaitable<void> join_for_a_moment(streamld::nursery& children, bool& is_empty) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds{10};
    is_empty = co_await children.join_until(deadline);
}

asio::awaitable<void>
wait_then_join_though_cancelled(wakeup& never, streamld::nursery& children, bool& was_cancelled) {
    try {
        co_await never.wait();
    } catch (const std::exception&) {
        // Cancelled: on its way out.
    }
    co_await asio::this_coro::throw_if_cancelled(false);
    was_cancelled = co_await children.join_though_cancelled();
}

} // namespace

BOOST_AUTO_TEST_SUITE(base_nursery)

BOOST_AUTO_TEST_CASE(a_failing_child_is_reported_and_harms_nobody) {
    shard_loop shard;
    wakeup waking{shard.shard_turn};

    shard.children.spawn("good", wait_once(waking));
    shard.children.spawn("bad", fail());
    shard.settle();

    BOOST_TEST(shard.failures == std::vector<std::string>{"bad"}, boost::test_tools::per_element());
    BOOST_TEST(shard.children.size() == 1U);
    waking.notify();
    shard.settle();
    BOOST_TEST(shard.children.size() == 0U);
}

BOOST_AUTO_TEST_CASE(cancel_ends_children_in_timers_silently) {
    shard_loop shard;
    shard.children.spawn("sleeper", sleep_for_an_hour(shard.loop));
    shard.children.spawn("sleeper", sleep_for_an_hour(shard.loop));
    shard.settle();

    shard.children.cancel();
    shard.settle();

    BOOST_TEST(shard.children.size() == 0U);
    BOOST_TEST(shard.failures.empty());
}

BOOST_AUTO_TEST_CASE(join_returns_when_the_last_child_has_ended) {
    shard_loop shard;
    wakeup waking{shard.shard_turn};
    streamld::nursery joiners{shard.shard_turn, {}};
    bool has_joined = false;
    shard.children.spawn("child", wait_once(waking));
    joiners.spawn("joiner", join(shard, has_joined));
    shard.settle();

    BOOST_TEST(!has_joined);
    waking.notify();
    shard.settle();

    BOOST_TEST(has_joined);
}

BOOST_AUTO_TEST_CASE(join_until_gives_up_at_its_deadline) {
    shard_loop shard;
    wakeup waking{shard.shard_turn};
    streamld::nursery joiners{shard.shard_turn, {}};
    bool is_empty = true;
    shard.children.spawn("stubborn", wait_once(waking));

    joiners.spawn("joiner", join_for_a_moment(shard.children, is_empty));

    BOOST_TEST(shard.until([&] { return joiners.size() == 0; }));
    BOOST_TEST(!is_empty);
    waking.notify();
    shard.settle();
}

BOOST_AUTO_TEST_CASE(a_cancelled_owner_still_waits_for_its_children) {
    shard_loop shard;
    wakeup never{shard.shard_turn};
    wakeup waking{shard.shard_turn};
    streamld::nursery owners{shard.shard_turn, {}};
    bool was_cancelled = false;
    shard.children.spawn("stubborn", wait_once(waking));
    owners.spawn("owner", wait_then_join_though_cancelled(never, shard.children, was_cancelled));
    shard.settle();

    owners.cancel();
    shard.settle();
    owners.cancel();
    shard.settle();

    BOOST_TEST(owners.size() == 1U);
    waking.notify();
    shard.settle();
    BOOST_TEST(owners.size() == 0U);
    BOOST_TEST(was_cancelled);
}

BOOST_AUTO_TEST_SUITE_END()
