#include "base/watchdog.hpp"

#include "support/gateway/shard_loop.hpp"

#include <boost/test/unit_test.hpp>

#include <optional>

namespace {

using streamld::watchdog;
using streamld::test::shard_loop;

} // namespace

BOOST_AUTO_TEST_SUITE(base_watchdog)

BOOST_AUTO_TEST_CASE(members_are_looked_at_until_they_leave) {
    shard_loop shard;
    int looks = 0;
    std::optional<watchdog::member> member;
    member.emplace(shard.dog, [&](watchdog::clock::time_point) { ++looks; });

    BOOST_TEST(shard.until([&] { return looks >= 3; }));
    member.reset();
    const int before = looks;

    // Without members nothing is armed, so the loop runs dry.
    shard.loop.restart();
    shard.loop.run();
    BOOST_TEST(looks == before);
}

BOOST_AUTO_TEST_CASE(stop_lets_the_loop_run_dry_while_members_stay) {
    shard_loop shard;
    watchdog::member member{shard.dog, [](watchdog::clock::time_point) {}};

    shard.dog.stop();
    shard.loop.restart();
    shard.loop.run();

    BOOST_TEST(shard.loop.stopped());
}

BOOST_AUTO_TEST_SUITE_END()
