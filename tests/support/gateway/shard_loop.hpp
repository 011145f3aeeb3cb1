#pragma once
// One shard for tests: a loop with its turn, watchdog and probes, driven by the test. Waits are
// bounded, never slept.

#include "base/nursery.hpp"
#include "base/turn.hpp"
#include "base/watchdog.hpp"
#include "metrics/probes.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <exception>
#include <string>
#include <utility>
#include <vector>

namespace streamld::test {

class shard_loop {
public:
    boost::asio::io_context loop;
    turn shard_turn{loop};
    watchdog dog{loop, std::chrono::milliseconds{5}};
    probes counters;
    std::vector<std::string> failures; // Of children of the nursery.
    nursery children{shard_turn, [this](std::string_view name, std::exception_ptr) {
                         failures.emplace_back(name);
                     }};

    ~shard_loop() {
        children.cancel();
        until([this] { return children.size() == 0; });
        dog.stop();
    }

    /// Runs the loop until it is so: false where it does not come about in time.
    template <typename Predicate>
    bool until(Predicate is_so, std::chrono::milliseconds patience = std::chrono::seconds{20}) {
        const auto deadline = std::chrono::steady_clock::now() + patience;
        while (!is_so()) {
            if (std::chrono::steady_clock::now() > deadline) return false;
            loop.restart();
            loop.run_one_for(std::chrono::milliseconds{1});
        }
        return true;
    }

    /// Runs all that is ready now.
    void settle() {
        loop.restart();
        while (loop.poll() > 0) {
        }
    }

    /// Runs a coroutine to its end.
    void run(boost::asio::awaitable<void> body) {
        bool is_done = false;
        children.spawn("test", mark_end(std::move(body), is_done));
        BOOST_REQUIRE(until([&] { return is_done; }));
    }

private:
    static boost::asio::awaitable<void> mark_end(boost::asio::awaitable<void> body, bool& is_done) {
        co_await std::move(body);
        is_done = true;
    }
};

} // namespace streamld::test
