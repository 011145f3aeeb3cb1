#include "base/wakeup.hpp"

#include "support/gateway/shard_loop.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/test/unit_test.hpp>

namespace {

namespace asio = boost::asio;
using streamld::wakeup;
using streamld::test::shard_loop;

asio::awaitable<void> count_wakes(wakeup& waking, int& wakes, int wanted) {
    while (wakes < wanted) {
        co_await waking.wait();
        ++wakes;
    }
}

} // namespace

BOOST_AUTO_TEST_SUITE(base_wakeup)

BOOST_AUTO_TEST_CASE(a_notify_before_the_wait_is_not_lost) {
    shard_loop shard;
    wakeup waking{shard.shard_turn};
    int wakes = 0;

    waking.notify();
    waking.notify();
    shard.children.spawn("waiter", count_wakes(waking, wakes, 2));
    shard.settle();

    BOOST_TEST(wakes == 1);
    waking.notify();
    BOOST_TEST(wakes == 1);
    shard.settle();
    BOOST_TEST(wakes == 2);
    BOOST_TEST(shard.children.size() == 0U);
}

BOOST_AUTO_TEST_CASE(waiting_keeps_the_loop_running) {
    shard_loop shard;
    wakeup waking{shard.shard_turn};
    int wakes = 0;
    shard.children.spawn("waiter", count_wakes(waking, wakes, 1));

    shard.settle();

    shard.loop.restart();
    shard.loop.run_for(std::chrono::milliseconds{1});
    BOOST_TEST(!shard.loop.stopped());
    waking.notify();
    shard.loop.restart();
    shard.loop.run();
    BOOST_TEST(wakes == 1);
}

BOOST_AUTO_TEST_CASE(cancelling_the_nursery_ends_the_wait_and_the_coroutine) {
    shard_loop shard;
    wakeup waking{shard.shard_turn};
    int wakes = 0;
    shard.children.spawn("waiter", count_wakes(waking, wakes, 1));
    shard.settle();

    shard.children.cancel();
    shard.settle();

    BOOST_TEST(shard.children.size() == 0U);
    BOOST_TEST(wakes == 0);
    BOOST_TEST(shard.failures.empty());
}

BOOST_AUTO_TEST_CASE(ten_thousand_waiters_wake_in_one_turn) {
    constexpr int crowd = 10'000;
    shard_loop shard;
    std::list<wakeup> wakeups;
    int wakes = 0;
    for (int i = 0; i < crowd; ++i) {
        wakeups.emplace_back(shard.shard_turn);
        shard.children.spawn("waiter", [](wakeup& own, int& count) -> asio::awaitable<void> {
            co_await own.wait();
            ++count;
        }(wakeups.back(), wakes));
    }
    shard.settle();

    for (auto& each : wakeups) {
        each.notify();
    }
    shard.loop.restart();
    shard.loop.poll_one();

    BOOST_TEST(wakes == crowd);
    shard.settle();
    BOOST_TEST(shard.children.size() == 0U);
}

BOOST_AUTO_TEST_SUITE_END()
