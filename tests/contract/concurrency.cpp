#include "contract/contract_case.hpp"

#include <algorithm>
#include <set>
#include <thread>

using streamld::store::offset_t;
using streamld::tests::in_time;
using streamld::tests::one_event;
using streamld::tests::run_loop;

namespace {

struct receipt {
    std::string stream;
    offset_t offset = 0;
    std::string payload;
};

// Publishes one event after the other to two streams in turn, and keeps what was acknowledged.
boost::asio::awaitable<void> publish_in_turn(
    streamld::store::engine& engine, std::string who, int count, std::vector<receipt>& kept
) {
    for (int i = 0; i < count; ++i) {
        receipt got;
        got.stream = i % 2 == 0 ? "even" : "odd";
        got.payload = "\"" + who + "-" + std::to_string(i) + "\"";
        auto request = one_event(got.stream, got.payload);
        const auto outcome = co_await engine.append(std::move(request), in_time());
        got.offset = outcome.first;
        kept.push_back(got);
    }
}

} // namespace

BOOST_AUTO_TEST_SUITE(contract_concurrency)

CONTRACT_CASE(acknowledged_events_are_the_stored_events) {
    constexpr int threads = 4;
    constexpr int publishers = 16;
    constexpr int count = 20;
    std::vector<std::vector<receipt>> kept(threads * publishers);
    std::vector<std::thread> running;
    for (int thread = 0; thread < threads; ++thread) {
        running.emplace_back([&, thread] {
            run_loop loop;
            for (int i = 0; i < publishers; ++i) {
                const int who = thread * publishers + i;
                auto& own = kept[static_cast<std::size_t>(who)];
                loop.start(publish_in_turn(store.engine(), std::to_string(who), count, own));
            }
            loop.join();
        });
    }
    for (auto& thread : running)
        thread.join();

    for (const std::string name : {"even", "odd"}) {
        const auto page = store.read_all(name);
        BOOST_REQUIRE(
            page.events.size() == static_cast<std::size_t>(threads * publishers * count / 2)
        );
        for (std::size_t i = 0; i < page.events.size(); ++i)
            BOOST_REQUIRE(page.events[i].offset == static_cast<offset_t>(i + 1));
        for (const auto& own : kept) {
            offset_t before = 0;
            for (const auto& got : own) {
                if (got.stream != name) continue;
                BOOST_REQUIRE(got.offset > before);
                before = got.offset;
                BOOST_REQUIRE(
                    page.events[static_cast<std::size_t>(got.offset - 1)].payload == got.payload
                );
            }
        }
    }
    // Many publishes share a commit; one each would mean that nothing is gathered.
    BOOST_TEST(store.observer.calls() < static_cast<std::size_t>(threads * publishers * count / 2));
}

CONTRACT_CASE(reader_never_sees_a_number_appear_behind_it) {
    constexpr int publishers = 8;
    constexpr int count = 50;
    std::thread publishing([&] {
        run_loop loop;
        std::vector<std::vector<receipt>> kept(publishers);
        for (int i = 0; i < publishers; ++i)
            loop.start(publish_in_turn(
                store.engine(), std::to_string(i), count, kept[static_cast<std::size_t>(i)]
            ));
        loop.join();
    });

    offset_t cursor = 0;
    constexpr offset_t all = publishers * count / 2;
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (cursor < all && std::chrono::steady_clock::now() < limit) {
        const auto page = store.read_all("even", cursor);
        for (const auto& event : page.events)
            BOOST_REQUIRE(event.offset == ++cursor);
        BOOST_REQUIRE(page.bounds.head == page.scanned);
    }
    publishing.join();

    BOOST_TEST(cursor == all);
}

CONTRACT_CASE(reports_come_in_commit_order_and_before_the_answer) {
    auto publisher = [&](int who) -> boost::asio::awaitable<void> {
        for (int i = 0; i < 20; ++i) {
            auto request = one_event("a", std::to_string(who));
            const auto outcome = co_await store.engine().append(std::move(request), in_time());
            const auto reports = store.observer.commits();
            const bool is_reported =
                std::any_of(reports.begin(), reports.end(), [&](const auto& report) {
                    return report.first == outcome.first;
                });
            BOOST_REQUIRE(is_reported);
        }
    };
    for (int who = 0; who < 8; ++who)
        store.loop.start(publisher(who));
    store.loop.join();

    offset_t expected = 0;
    for (const auto& report : store.observer.commits())
        BOOST_REQUIRE(report.first == ++expected);
    BOOST_TEST(expected == 160);
}

CONTRACT_CASE(own_publishes_are_reported_with_their_events) {
    streamld::store::append_request batch;
    batch.stream = "a";
    batch.events.emplace_back("1");
    batch.events.emplace_back("2");

    store.append(std::move(batch));

    const auto reports = store.observer.commits();
    BOOST_REQUIRE(reports.size() == 1U);
    BOOST_TEST(reports.front().stream == "a");
    BOOST_TEST(reports.front().first == 1);
    BOOST_TEST(
        reports.front().payloads == (std::vector<std::string>{"1", "2"}),
        boost::test_tools::per_element()
    );
}

BOOST_AUTO_TEST_SUITE_END()
