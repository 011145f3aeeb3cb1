#include "base/turn.hpp"

#include "support/gateway/shard_loop.hpp"

#include <boost/asio/post.hpp>
#include <boost/test/unit_test.hpp>

#include <functional>
#include <optional>
#include <string>

namespace {

using streamld::turn;
using streamld::test::shard_loop;

struct job {
    std::function<void()> act;
    turn::task task{[](void* self) noexcept { static_cast<job*>(self)->act(); }, this};

    explicit job(std::function<void()> what) : act(std::move(what)) {}
};

} // namespace

BOOST_AUTO_TEST_SUITE(base_turn)

BOOST_AUTO_TEST_CASE(tasks_run_in_order_and_the_end_comes_last) {
    shard_loop shard;
    std::string ran;
    job flush{[&] { ran += 'e'; }};
    job first{[&] { ran += '1'; }};
    job second{[&] { ran += '2'; }};

    shard.shard_turn.at_end(flush.task);
    shard.shard_turn.soon(first.task);
    shard.shard_turn.soon(second.task);
    shard.shard_turn.soon(first.task);

    BOOST_TEST(ran.empty());
    shard.settle();
    BOOST_TEST(ran == "12e");
}

BOOST_AUTO_TEST_CASE(what_a_task_wakes_runs_before_the_end_of_the_turn) {
    shard_loop shard;
    std::string ran;
    job flush{[&] { ran += 'e'; }};
    job woken{[&] { ran += 'w'; }};
    job waking{[&] {
        ran += 'a';
        shard.shard_turn.soon(woken.task);
    }};

    shard.shard_turn.at_end(flush.task);
    shard.shard_turn.soon(waking.task);
    shard.settle();

    BOOST_TEST(ran == "awe");
}

BOOST_AUTO_TEST_CASE(a_task_may_destroy_another_that_is_queued) {
    shard_loop shard;
    std::string ran;
    std::optional<job> victim;
    job killer{[&] { victim.reset(); }};
    job last{[&] { ran += 'l'; }};
    victim.emplace([&] { ran += 'v'; });

    shard.shard_turn.soon(killer.task);
    shard.shard_turn.soon(victim->task);
    shard.shard_turn.soon(last.task);
    shard.settle();

    BOOST_TEST(ran == "l");
}

BOOST_AUTO_TEST_CASE(a_task_that_always_wakes_itself_does_not_starve_the_loop) {
    shard_loop shard;
    bool is_other_served = false;
    int rounds = 0;
    std::optional<job> restless;
    restless.emplace([&] {
        ++rounds;
        if (!is_other_served) shard.shard_turn.soon(restless->task);
    });

    shard.shard_turn.soon(restless->task);
    boost::asio::post(shard.loop, [&] { is_other_served = true; });

    BOOST_TEST(shard.until([&] { return is_other_served && !restless->task.is_queued(); }));
    BOOST_TEST(rounds < 100);
}

BOOST_AUTO_TEST_SUITE_END()
