// What may go into one group, and who is refused.

#include "store/postgres/append_queue.hpp"

#include <boost/test/unit_test.hpp>

#include <memory>
#include <string>
#include <vector>

using boost::test_tools::per_element;
using streamld::store::deadline_t;
using streamld::store::new_event;
using streamld::store::postgres::append_counts;
using streamld::store::postgres::append_list;
using streamld::store::postgres::append_queue;
using streamld::store::postgres::checked_append;
using streamld::store::postgres::pending_append;
using streamld::store::postgres::pending_ptr;
using names = std::vector<std::string>;

namespace {

constexpr std::size_t many = 1000;

struct queue_fixture {
    append_counts counts;
    append_queue queue;

    /// The payload is the publish's name here.
    pending_append& push(const std::string& stream, const std::string& name) {
        checked_append publish;
        publish.request.stream = stream;
        publish.request.events.emplace_back(name);
        auto next = std::make_unique<pending_append>(std::move(publish), deadline_t::max(), counts);
        pending_append& pushed = *next;
        queue.push(std::move(next));
        return pushed;
    }

    names take(std::size_t events_max = many, std::size_t bytes_max = many * many) {
        return names_of(queue.take_group(events_max, bytes_max));
    }

    static names names_of(const append_list& taken) {
        names all;
        for (const auto& one : taken)
            all.push_back(one->publish.request.events.front().payload);
        return all;
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(store_postgres_append_queue, queue_fixture)

BOOST_AUTO_TEST_CASE(everything_waiting_goes_together_in_its_order) {
    push("a", "1");
    push("b", "2");
    push("a", "3");

    BOOST_TEST(take() == (names{"1", "2", "3"}), per_element());
    BOOST_TEST(queue.empty());
}

BOOST_AUTO_TEST_CASE(limit_of_events_ends_a_group_but_one_always_fits) {
    pending_append& large = push("a", "1");
    large.publish.request.events.resize(5);
    large.publish.request.events.front().payload = "1";
    push("a", "2");
    push("a", "3");

    BOOST_TEST(take(2) == names{"1"}, per_element());
    BOOST_TEST(take(2) == (names{"2", "3"}), per_element());
}

BOOST_AUTO_TEST_CASE(limit_of_bytes_ends_a_group_but_one_always_fits) {
    push("a", "1");
    push("b", "2");

    BOOST_TEST(take(many, 1) == names{"1"}, per_element());
    BOOST_TEST(take(many, 1) == names{"2"}, per_element());
}

BOOST_AUTO_TEST_CASE(expected_head_goes_only_as_its_streams_first) {
    push("a", "1");
    push("a", "2").publish.request.expected_head = 1;
    push("b", "3").publish.request.expected_head = 0;
    push("a", "4");

    BOOST_TEST(take() == (names{"1", "3"}), per_element());
    // What came behind waits with it, so the stream's order holds.
    BOOST_TEST(take() == (names{"2", "4"}), per_element());
}

BOOST_AUTO_TEST_CASE(idempotency_key_goes_once_a_group_and_stream) {
    push("a", "1").publish.request.idempotency_key = "k";
    push("a", "2").publish.request.idempotency_key = "k";
    push("b", "3").publish.request.idempotency_key = "k";
    push("a", "4").publish.request.idempotency_key = "other";

    BOOST_TEST(take() == (names{"1", "3"}), per_element());
    BOOST_TEST(take() == (names{"2", "4"}), per_element());
}

BOOST_AUTO_TEST_CASE(late_ones_are_taken_out_and_the_rest_keeps_its_order) {
    const auto now = std::chrono::steady_clock::now();
    push("a", "1");
    push("a", "2").deadline = now;
    push("a", "3");

    BOOST_TEST(names_of(queue.take_late(now)) == names{"2"}, per_element());
    BOOST_TEST(take() == (names{"1", "3"}), per_element());
}

BOOST_AUTO_TEST_CASE(what_is_put_back_goes_before_what_came_meanwhile) {
    push("a", "1");
    push("a", "2");
    append_list taken = queue.take_group(many, many * many);
    push("a", "3");
    queue.push_front(std::move(taken));

    BOOST_TEST(take() == (names{"1", "2", "3"}), per_element());
}

BOOST_AUTO_TEST_CASE(counts_hold_what_is_not_answered_yet) {
    push("a", "1");
    push("a", "2");
    BOOST_TEST(counts.publishes == 2U);
    BOOST_TEST(counts.bytes > 0U);

    append_list taken = queue.take_group(many, many * many);
    BOOST_TEST(counts.publishes == 2U);
    taken.clear();

    BOOST_TEST(counts.publishes == 0U);
    BOOST_TEST(counts.bytes == 0U);
}

BOOST_AUTO_TEST_SUITE_END()
