#include "hub/subscription.hpp"

#include "hub/fanout.hpp"
#include "support/gateway/scripted_engine.hpp"
#include "support/gateway/shard_loop.hpp"

#include <boost/test/unit_test.hpp>

#include <deque>
#include <numeric>
#include <vector>

using streamld::ending;
using streamld::frame_slice;
using streamld::gap_signal;
using streamld::offset_t;
using streamld::opening;
using streamld::subscription;
using streamld::subscription_options;
using streamld::wakeup;
using streamld::wire_format;
using streamld::store::start_kind;
using streamld::store::start_point;

namespace {

/// Notes what it is given; can be made slow.
class noting_sink final : public streamld::sink {
public:
    std::vector<offset_t> got;
    offset_t scanned = 0;
    std::optional<gap_signal> told;
    std::optional<offset_t> caught_up_at;
    std::size_t largest_batch = 0;
    bool is_slow = false; // Takes one batch, then waits for resume().
    bool has_left = false;

    void watch(wakeup& waiting) override { waiting_ = &waiting; }

    void unwatch(wakeup&) noexcept override { waiting_ = nullptr; }

    [[nodiscard]] bool is_ready() const noexcept override { return !is_full_; }

    [[nodiscard]] bool is_gone() const noexcept override { return has_left; }

    void frames(const frame_slice& slice) override {
        for (std::size_t i = slice.from; i < slice.to; ++i)
            got.push_back(slice.block->sequence(i));
        largest_batch = std::max(largest_batch, slice.size());
        is_full_ = is_slow;
    }

    void moved(offset_t to) override { scanned = to; }

    void caught_up(offset_t head) override { caught_up_at = head; }

    void gap(const gap_signal& signal) override { told = signal; }

    void resume() {
        is_full_ = false;
        waiting_->notify();
    }

    void leave() {
        has_left = true;
        waiting_->notify();
    }

private:
    wakeup* waiting_ = nullptr;
    bool is_full_ = false;
};

/// One reader, from its opening to its ending.
struct reader {
    noting_sink to;
    std::optional<opening> found;
    std::optional<subscription> from;
    std::optional<ending> ended;
    std::string fault;
};

void ignore_trouble(boost::system::error_code, std::string_view) {}

struct fixture {
    streamld::test::shard_loop shard;
    streamld::test::scripted_engine engine{shard.shard_turn};
    streamld::fanout group{&ignore_trouble};
    streamld::hub hub{engine, group, shard.shard_turn, shard.counters, limits()};
    std::deque<reader> readers;

    fixture() { hub.join_fanout(); }

    ~fixture() {
        engine.let_go();
        for (reader& one : readers)
            if (one.from) one.from->stop(ending::client_left);
        BOOST_CHECK(shard.until([this] { return shard.children.size() == 0; }));
        readers.clear();
        shard.run(hub.close());
    }

    static streamld::hub_limits limits() {
        streamld::hub_limits small;
        small.page_events_max = 4;
        return small;
    }

    reader& start(start_point at, subscription_options options = {}) {
        reader& one = readers.emplace_back();
        shard.children.spawn("reader", serve(one, std::move(at), std::move(options)));
        return one;
    }

    reader& start_after(offset_t after, subscription_options options = {}) {
        start_point at;
        at.kind = start_kind::after;
        at.value = after;
        return start(std::move(at), std::move(options));
    }

    boost::asio::awaitable<void> serve(reader& one, start_point at, subscription_options options) {
        const std::string epoch = options.epoch;
        const std::string key = options.key;
        try {
            const wire_format format;
            one.found = co_await hub.open("s", std::move(at), epoch, key, format);
        } catch (const streamld::store::error& error) {
            one.fault = error.code().message();
        }
        if (!one.found || one.found->verdict != streamld::store::verdict::resolvable) co_return;
        one.from.emplace(
            hub, std::move(one.found->tail), one.found->after, one.to, std::move(options)
        );
        one.ended = co_await one.from->run();
    }

    /// As the engine's writer does: stores, then tells the fanout.
    void commit(int events, const std::string& key = {}) {
        const auto first = static_cast<offset_t>(engine.logs["s"].events.size()) + 1;
        engine.append_silently("s", events, key);
        streamld::store::store_observer::committed_append append;
        append.stream = "s";
        append.epoch = engine.logs["s"].epoch;
        append.content_type = "application/json";
        append.events =
            std::span{engine.logs["s"].events}.subspan(static_cast<std::size_t>(first - 1));
        append.first = first;
        group.committed({&append, 1});
    }

    /// As a foreign process does, and the watcher notices.
    void commit_elsewhere(int events) {
        engine.append_silently("s", events);
        group.grown({{"s", static_cast<offset_t>(engine.logs["s"].events.size())}});
    }

    void expect(reader& one, offset_t first, offset_t last) {
        std::vector<offset_t> wanted(static_cast<std::size_t>(last - first + 1));
        std::iota(wanted.begin(), wanted.end(), first);
        BOOST_TEST(shard.until([&] { return one.to.got.size() >= wanted.size(); }));
        shard.settle();
        BOOST_TEST(one.to.got == wanted, boost::test_tools::per_element());
    }
};

} // namespace

BOOST_TEST_DONT_PRINT_LOG_VALUE(streamld::ending)

BOOST_FIXTURE_TEST_SUITE(hub_subscription, fixture)

BOOST_AUTO_TEST_CASE(history_then_live_is_one_dense_run) {
    commit(10);
    reader& one = start_after(0);
    expect(one, 1, 10);

    commit(3);
    commit(1);

    expect(one, 1, 14);
    BOOST_TEST(one.to.caught_up_at.value() == 10);
}

BOOST_AUTO_TEST_CASE(a_commit_while_the_page_is_being_read_is_neither_lost_nor_repeated) {
    commit(6);
    reader& one = start_after(0);
    engine.hold_reads();
    BOOST_TEST(shard.until([this] { return engine.held_reads() > 0; }));

    commit(5);
    shard.settle();
    engine.let_go();

    expect(one, 1, 11);
}

BOOST_AUTO_TEST_CASE(a_live_tail_begins_at_the_head) {
    commit(5);
    reader& one = start(start_point{});
    BOOST_TEST(shard.until([&] { return one.to.caught_up_at.has_value(); }));

    commit(2);

    expect(one, 6, 7);
}

BOOST_AUTO_TEST_CASE(a_stream_may_come_into_being_under_a_subscription) {
    reader& one = start(start_point{});
    BOOST_TEST(shard.until([&] { return one.to.caught_up_at.has_value(); }));

    commit(3);

    expect(one, 1, 3);
}

BOOST_AUTO_TEST_CASE(a_foreign_commit_is_read_from_the_store_once_for_all) {
    commit(2);
    for (int i = 0; i < 50; ++i)
        start_after(2);
    BOOST_TEST(shard.until([this] { return readers.back().to.caught_up_at.has_value(); }));
    const std::size_t before = engine.page_reads;

    commit_elsewhere(3);

    for (reader& one : readers)
        expect(one, 3, 5);
    BOOST_TEST(engine.page_reads - before == 1U);
}

BOOST_AUTO_TEST_CASE(a_missed_notice_is_mended_by_the_next_one) {
    reader& one = start_after(0);
    commit(1);
    expect(one, 1, 1);

    engine.append_silently("s", 4); // Nobody is told of 2..5.
    commit(1);

    expect(one, 1, 6);
}

BOOST_AUTO_TEST_CASE(many_readers_behind_share_the_reads) {
    commit(40);
    for (int i = 0; i < 100; ++i)
        start_after(i % 10);
    BOOST_TEST(shard.until([this] { return readers.back().to.caught_up_at.has_value(); }));

    for (std::size_t i = 0; i < readers.size(); ++i)
        expect(readers[i], static_cast<offset_t>(i % 10) + 1, 40);
    // Ten starts of pages of four events each would be 100 reads even when shared; the tail takes
    // in what touches it.
    BOOST_TEST(engine.page_reads <= 100U);
    // Who begins before the tail asks for the bounds; all others find them known.
    BOOST_TEST(engine.info_reads <= 20U);
}

BOOST_AUTO_TEST_CASE(a_start_that_another_process_trimmed_is_judged_before_anything_is_given) {
    commit(10);
    reader& live = start(start_point{});
    BOOST_TEST(shard.until([&] { return live.to.caught_up_at.has_value(); }));

    engine.logs["s"].horizon = 5; // Nobody is told.
    reader& late = start_after(2);

    BOOST_TEST(shard.until([&] { return late.found.has_value(); }));
    BOOST_CHECK(late.found->verdict == streamld::store::verdict::trimmed);
    BOOST_TEST(late.to.got.empty());
}

BOOST_AUTO_TEST_CASE(a_slow_reader_takes_up_again_from_the_log) {
    reader& slow = start_after(0);
    reader& fast = start_after(0);
    slow.to.is_slow = true;
    commit(1);
    expect(slow, 1, 1);

    for (int i = 0; i < 100; ++i) {
        commit(1);
        shard.settle();
    }
    expect(fast, 1, 101);
    BOOST_TEST(slow.to.got.size() == 1U);
    slow.to.is_slow = false;
    slow.to.resume();

    expect(slow, 1, 101);
}

BOOST_AUTO_TEST_CASE(trimmed_while_it_lagged_it_is_told_once) {
    reader& slow = start_after(0);
    slow.to.is_slow = true;
    commit(1);
    expect(slow, 1, 1);
    commit_elsewhere(50);
    shard.settle();
    // Its place leaves the tail's memory and the log.
    engine.logs["s"].horizon = 30;
    hub.take_horizon("s", 30);
    reader& late = start_after(10);
    shard.settle();
    slow.to.is_slow = false;
    slow.to.resume();

    BOOST_TEST(shard.until([&] { return late.found.has_value(); }));
    BOOST_TEST((late.found->verdict == streamld::store::verdict::trimmed));
    BOOST_TEST(shard.until([&] { return slow.ended || slow.to.got.size() == 51; }));
    if (slow.ended) { // Told, or served from memory without a hole: never a jump.
        BOOST_TEST((*slow.ended == ending::gap));
        BOOST_TEST(slow.to.told->bounds.oldest_available().value() == 31);
    }
    BOOST_TEST(slow.to.got.back() == static_cast<offset_t>(slow.to.got.size()));
}

BOOST_AUTO_TEST_CASE(verdicts_come_before_any_frame) {
    commit(10);
    engine.logs["s"].horizon = 3;

    reader& trimmed = start_after(2);
    reader& edge = start_after(3);
    reader& ahead = start_after(11);
    subscription_options other;
    other.epoch = "ffffffffffffffff";
    reader& foreign = start_after(5, other);

    expect(edge, 4, 10);
    BOOST_TEST(shard.until([&] { return trimmed.found && ahead.found && foreign.found; }));
    BOOST_TEST((trimmed.found->verdict == streamld::store::verdict::trimmed));
    BOOST_TEST((ahead.found->verdict == streamld::store::verdict::ahead));
    BOOST_TEST((foreign.found->verdict == streamld::store::verdict::foreign));
    BOOST_TEST(ahead.found->bounds.head == 10);
}

BOOST_AUTO_TEST_CASE(what_looks_ahead_here_is_asked_of_the_store) {
    reader& here = start_after(0);
    commit(1);
    expect(here, 1, 1);
    engine.append_silently("s", 5); // Another gateway served these.

    reader& one = start_after(6);

    BOOST_TEST(shard.until([&] { return one.to.caught_up_at.has_value(); }));
    BOOST_TEST(one.found->bounds.head == 6);
    expect(here, 1, 6);
}

BOOST_AUTO_TEST_CASE(a_key_filters_history_and_live_alike) {
    commit(2, "a");
    commit(3, "b");
    commit(1, "a");
    subscription_options only_a;
    only_a.key = "a";
    reader& one = start_after(0, only_a);
    BOOST_TEST(shard.until([&] { return one.to.got.size() == 3; }));

    commit(1, "b");
    commit(2, "a");
    BOOST_TEST(shard.until([&] { return one.to.got.size() == 5; }));

    const std::vector<offset_t> wanted{1, 2, 6, 8, 9};
    BOOST_TEST(one.to.got == wanted, boost::test_tools::per_element());
    commit(1, "b");
    BOOST_TEST(shard.until([&] { return one.to.scanned == 10; })
    ); // The position moves without an event.
}

BOOST_AUTO_TEST_CASE(a_range_ends_at_its_end_though_more_comes) {
    commit(10);
    subscription_options range;
    range.through = 7;
    range.is_read = true;
    reader& one = start_after(2, range);
    commit(5);

    expect(one, 3, 7);
    BOOST_TEST(shard.until([&] { return one.ended.has_value(); }));
    BOOST_TEST((*one.ended == ending::finished));
}

BOOST_AUTO_TEST_CASE(a_store_that_fails_ends_a_reader_that_needs_it_and_spares_the_others) {
    commit(5);
    reader& live = start(start_point{});
    BOOST_TEST(shard.until([&] { return live.to.caught_up_at.has_value(); }));

    engine.reads_fail = true;
    reader& behind = start_after(0);
    BOOST_TEST(shard.until([&] { return behind.ended.has_value() || !behind.fault.empty(); }));
    commit(1);

    expect(live, 6, 6);
    engine.reads_fail = false;
}

BOOST_AUTO_TEST_CASE(a_follower_goes_on_when_the_store_is_back) {
    commit(1);
    reader& one = start_after(0);
    expect(one, 1, 1);
    engine.reads_fail = true;
    commit_elsewhere(2);
    BOOST_TEST(shard.until([this] { return engine.page_reads > 1; }));

    engine.reads_fail = false;

    expect(one, 1, 3);
}

BOOST_AUTO_TEST_CASE(a_drain_sends_what_is_known_then_ends) {
    commit(3);
    reader& one = start_after(3);
    BOOST_TEST(shard.until([&] { return one.to.caught_up_at.has_value(); }));
    commit(2);
    shard.settle();

    hub.begin_drain();

    BOOST_TEST(shard.until([&] { return one.ended.has_value(); }));
    BOOST_TEST((*one.ended == ending::shutdown));
    expect(one, 4, 5);
}

BOOST_AUTO_TEST_CASE(a_reader_that_leaves_ends) {
    commit(1);
    reader& one = start_after(0);
    expect(one, 1, 1);

    one.to.leave();

    BOOST_TEST(shard.until([&] { return one.ended.has_value(); }));
    BOOST_TEST((*one.ended == ending::client_left));
}

BOOST_AUTO_TEST_CASE(stopped_while_a_page_is_read_it_gives_nothing_more) {
    commit(5);
    reader& one = start_after(0);
    BOOST_TEST(shard.until([&] { return one.from.has_value(); }));
    engine.hold_reads();
    shard.settle();
    const std::size_t before = one.to.got.size();

    one.from->stop(ending::replaced);
    engine.let_go();

    BOOST_TEST(shard.until([&] { return one.ended.has_value(); }));
    BOOST_TEST((*one.ended == ending::replaced));
    BOOST_TEST(one.to.got.size() == before);
}

BOOST_AUTO_TEST_CASE(tails_stay_within_the_total_of_bytes) {
    streamld::hub_limits limits;
    limits.tail_bytes_max = 20'000;
    streamld::fanout other_group{&ignore_trouble};
    streamld::hub tight{engine, other_group, shard.shard_turn, shard.counters, limits};
    tight.join_fanout();
    {
        opening found;
        const auto open = [&]() -> boost::asio::awaitable<void> {
            const start_point live;
            const wire_format format;
            const std::string none;
            found = co_await tight.open("s", live, none, none, format);
        };
        shard.run(open());
        for (offset_t offset = 1; offset <= 200; ++offset) {
            streamld::block_builder builder{"s", "", wire_format{}};
            streamld::store::event_view event;
            event.offset = offset;
            const std::string payload(500, '1');
            event.payload = payload;
            builder.add(event);
            tight.take_block("s", wire_format{}, builder.finish({}));
            BOOST_TEST(found.tail->memory() <= limits.tail_bytes_max);
        }
        BOOST_TEST(found.tail->view().last == 200);
        BOOST_TEST(found.tail->view().first > 100);
    }
    shard.run(tight.close());
}

BOOST_AUTO_TEST_SUITE_END()
