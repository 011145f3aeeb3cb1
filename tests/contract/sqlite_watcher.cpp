// Noticing what others commit to the same file.

#include "support/plain_sqlite.hpp"
#include "support/store_fixture.hpp"
#include "support/temp_dir.hpp"

#include <boost/test/unit_test.hpp>

#include <thread>

using streamld::store::offset_t;
using streamld::tests::plain_sqlite;
using streamld::tests::store_fixture;
using streamld::tests::temp_dir;

namespace {

struct watched_file {
    // A poll this rare cannot stand in for the signal.
    static streamld::store::open_options rare_poll() {
        streamld::store::open_options options;
        options.poll_interval = std::chrono::minutes(5);
        return options;
    }

    temp_dir directory;
    std::string path = directory.file("store.db");
    store_fixture store{"sqlite:" + path, rare_poll()};
    plain_sqlite client{path};

    bool hears_of(const std::string& stream, offset_t head) {
        return store.observer.wait(std::chrono::seconds(2), [&] {
            return store.observer.grown_head(stream) >= head;
        });
    }

    void publish_plainly(const std::string& stream) {
        client.run("INSERT INTO streamld_publish (stream, payload) VALUES ('" + stream + "', '1')");
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(contract_sqlite_watcher, watched_file)

BOOST_AUTO_TEST_CASE(every_foreign_commit_wakes_also_after_checkpoints) {
    for (offset_t round = 1; round <= 100; ++round) {
        publish_plainly("a");
        BOOST_REQUIRE(hears_of("a", round));
        if (round % 2 == 0) client.run("PRAGMA wal_checkpoint(TRUNCATE)");
    }
}

BOOST_AUTO_TEST_CASE(foreign_commits_between_own_ones_are_heard) {
    for (offset_t round = 1; round <= 100; ++round) {
        store.publish("own", "1");
        publish_plainly("foreign");
        if (round % 3 == 0) store.publish("own", "1");
        BOOST_REQUIRE(hears_of("foreign", round));
    }
}

BOOST_AUTO_TEST_CASE(foreign_commits_amid_a_flood_of_own_ones_are_heard) {
    std::atomic<bool> is_over{false};
    std::thread flood([&] {
        streamld::tests::run_loop loop;
        while (!is_over.load()) {
            auto request = streamld::tests::one_event("own", "1");
            loop.await(store.engine().append(std::move(request), streamld::tests::in_time()));
        }
    });
    bool is_heard = true;
    for (offset_t round = 1; round <= 50 && is_heard; ++round) {
        publish_plainly("foreign");
        is_heard = hears_of("foreign", round);
    }
    is_over.store(true);
    flood.join();

    BOOST_TEST(is_heard);
}

BOOST_AUTO_TEST_CASE(own_commits_are_not_told_twice) {
    for (int i = 0; i < 20; ++i)
        store.publish("own", "1");
    publish_plainly("foreign");

    BOOST_TEST(hears_of("foreign", 1));
    BOOST_TEST(store.observer.grown_head("own") == 0);
}

BOOST_AUTO_TEST_CASE(foreign_trim_is_no_news) {
    store.publish_many("a", 5);
    client.run("UPDATE streamld_stream SET horizon = 3 WHERE name = 'a'");
    publish_plainly("b");

    BOOST_TEST(hears_of("b", 1));
    BOOST_TEST(store.observer.grown_head("a") == 0);
}

BOOST_AUTO_TEST_CASE(two_engines_share_a_file) {
    constexpr int publishers = 16;
    constexpr int count = 10;
    store_fixture other("sqlite:" + path);
    const auto publish_all = [&](streamld::store::engine& engine) {
        streamld::tests::run_loop loop;
        auto publisher = [&engine]() -> boost::asio::awaitable<void> {
            for (int i = 0; i < count; ++i) {
                auto request = streamld::tests::one_event("a", "1");
                co_await engine.append(std::move(request), streamld::tests::in_time());
                if (i % 5 == 0)
                    co_await engine.save_offset("a", "c", 1, streamld::tests::in_time());
            }
        };
        for (int i = 0; i < publishers; ++i)
            loop.start(publisher());
        loop.join();
    };
    std::thread second([&] { publish_all(other.engine()); });
    publish_all(store.engine());
    second.join();

    const auto page = store.read_all("a");
    BOOST_REQUIRE(page.events.size() == static_cast<std::size_t>(2 * publishers * count));
    for (std::size_t i = 0; i < page.events.size(); ++i)
        BOOST_REQUIRE(page.events[i].offset == static_cast<offset_t>(i + 1));
    BOOST_TEST(client.value("PRAGMA integrity_check") == "ok");
}

BOOST_AUTO_TEST_SUITE_END()
