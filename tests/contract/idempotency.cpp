#include "contract/contract_case.hpp"

#include <set>

using streamld::store::append_request;
using streamld::store::errc;
using streamld::store::offset_t;
using streamld::tests::fails_with;
using streamld::tests::in_time;
using streamld::tests::one_event;

namespace {

append_request
with_token(const std::string& stream, const std::string& payload, const std::string& token) {
    auto request = one_event(stream, payload);
    request.idempotency_key = token;
    return request;
}

} // namespace

BOOST_AUTO_TEST_SUITE(contract_idempotency)

CONTRACT_CASE(same_publish_gets_the_first_answer_again) {
    store.publish("a", "0");
    const auto first = store.append(with_token("a", "1", "t"));
    store.publish("a", "2");

    const auto again = store.append(with_token("a", "1", "t"));

    BOOST_TEST(!first.replayed);
    BOOST_TEST(again.replayed);
    BOOST_TEST(again.first == first.first);
    BOOST_TEST(again.created_at == first.created_at);
    BOOST_TEST(store.info("a")->bounds.head == 3);
}

CONTRACT_CASE(answer_survives_a_reopen_and_a_trim) {
    store.append(with_token("a", "1", "t"));
    store.trim("a", 1);
    store.reopen();

    BOOST_TEST(store.append(with_token("a", "1", "t")).replayed);
}

CONTRACT_CASE(another_publish_with_the_token_is_a_conflict) {
    store.append(with_token("a", "1", "t"));
    auto other_key = with_token("a", "1", "t");
    other_key.events.front().key = "k";
    auto other_mark = with_token("a", "1", "t");
    other_mark.events.front().is_snapshot = true;
    auto other_type = with_token("a", "1", "t");
    other_type.content_type = "text/plain";
    auto other_shape = with_token("a", "1", "t");
    other_shape.is_batch = true;

    BOOST_TEST(fails_with(errc::idempotency_conflict, [&] {
        store.append(with_token("a", "2", "t"));
    }));
    BOOST_TEST(fails_with(errc::idempotency_conflict, [&] { store.append(other_key); }));
    BOOST_TEST(fails_with(errc::idempotency_conflict, [&] { store.append(other_mark); }));
    BOOST_TEST(fails_with(errc::idempotency_conflict, [&] { store.append(other_type); }));
    BOOST_TEST(fails_with(errc::idempotency_conflict, [&] { store.append(other_shape); }));
    BOOST_TEST(store.info("a")->bounds.head == 1);
}

CONTRACT_CASE(token_belongs_to_its_stream) {
    store.append(with_token("a", "1", "t"));

    BOOST_TEST(!store.append(with_token("b", "2", "t")).replayed);
}

CONTRACT_CASE(replay_comes_before_the_precondition) {
    auto request = with_token("a", "1", "t");
    request.expected_head = 0;
    store.append(request);

    BOOST_TEST(store.append(request).replayed);
}

CONTRACT_CASE(refused_publish_does_not_use_the_token_up) {
    auto refused = with_token("a", "1", "t");
    refused.expected_head = 9;
    BOOST_TEST(fails_with(errc::precondition, [&] { store.append(refused); }));

    const auto outcome = store.append(with_token("a", "2", "t"));

    BOOST_TEST(!outcome.replayed);
    BOOST_TEST(outcome.first == 1);
}

CONTRACT_CASE(batch_is_replayed_whole) {
    auto batch = with_token("a", "1", "t");
    batch.events.emplace_back("2");
    batch.events.emplace_back("3");
    batch.is_batch = true;
    store.append(batch);

    const auto again = store.append(batch);

    BOOST_TEST(again.replayed);
    BOOST_TEST(again.first == 1);
    BOOST_TEST(again.last == 3);
}

CONTRACT_CASE(fifty_at_once_are_one_event) {
    std::multiset<offset_t> answers;
    int fresh = 0;
    auto publisher = [&]() -> boost::asio::awaitable<void> {
        auto request = with_token("a", "1", "t");
        const auto outcome = co_await store.engine().append(std::move(request), in_time());
        answers.insert(outcome.first);
        fresh += outcome.replayed ? 0 : 1;
    };
    for (int i = 0; i < 50; ++i)
        store.loop.start(publisher());

    store.loop.join();

    BOOST_TEST(fresh == 1);
    BOOST_TEST(answers.count(1) == 50U);
    BOOST_TEST(store.info("a")->bounds.head == 1);
}

BOOST_AUTO_TEST_SUITE_END()
