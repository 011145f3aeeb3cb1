// Server-sent events (PROTOCOL.md section 5): one stream, or several on one response.

#include "delivery/event_stream.hpp"

#include "api/event_stream_start.hpp"
#include "api/gap_answer.hpp"
#include "api/streaming.hpp"
#include "base/job_log.hpp"
#include "hub/subscription.hpp"

#include <boost/asio/this_coro.hpp>

#include <deque>
#include <exception>
#include <utility>

namespace streamld::api {

namespace {

/// The streams of one response. The first that ends takes the others with it.
class stream_group {
public:
    stream_group(hub& owner, event_stream& response) : hub_(owner), response_(response) {}

    void add(opening found, const subscribe_request& asked) {
        subscription_options options;
        options.key = asked.key;
        options.epoch = asked.epoch.empty() ? found.bounds.epoch : asked.epoch;
        options.by = transport::sse;
        const std::size_t index = response_.add(asked.stream, found.bounds.epoch, found.after);
        sse_sink& to = sinks_.emplace_back(response_, index);
        subscriptions_.emplace_back(
            hub_, std::move(found.tail), found.after, to, std::move(options)
        );
    }

    boost::asio::awaitable<ending> run() {
        if (subscriptions_.size() == 1) co_return co_await subscriptions_.front().run();
        nursery members{hub_.shard_turn(), log::failed_jobs_of("api")};
        for (subscription& one : subscriptions_)
            members.spawn("sse stream", run_member(one));
        std::exception_ptr fault;
        try {
            co_await members.join();
        } catch (...) {
            fault = std::current_exception();
        }
        if (fault) {
            // Cancelled: the members refer to this group and end before it does.
            for (subscription& one : subscriptions_)
                one.stop(ending::shutdown);
            co_await boost::asio::this_coro::throw_if_cancelled(false);
            (void)co_await members.join_though_cancelled();
            std::rethrow_exception(fault);
        }
        co_return ended_.value_or(ending::store_failed);
    }

private:
    boost::asio::awaitable<void> run_member(subscription& one) {
        ending why = ending::store_failed;
        std::exception_ptr fault;
        try {
            why = co_await one.run();
        } catch (...) {
            fault = std::current_exception();
        }
        if (!ended_) ended_ = why;
        for (subscription& other : subscriptions_)
            other.stop(*ended_);
        if (fault) std::rethrow_exception(fault);
    }

    hub& hub_;
    event_stream& response_;
    std::deque<sse_sink> sinks_;
    std::deque<subscription> subscriptions_;
    std::optional<ending> ended_;
};

boost::asio::awaitable<std::optional<net::response>>
refuse_start(exchange& request, const event_stream_start& start, gap_signal gap) {
    request.shard.shard_probes.gap_told(reason_of(gap));
    if (!start.tells_gap_as_event || request.is_head) co_return gap_answer(gap, false);
    net::response head = event_stream_head();
    head.body = "event: gap\ndata: " + gap_json(gap, {}, start.is_jsonld) + "\n\n";
    co_return head;
}

event_stream_options
options_of(const exchange& request, const event_stream_start& start, bool is_multiple) {
    event_stream_options options;
    options.is_multiple = is_multiple;
    options.has_epoch_id = start.has_epoch_id;
    options.is_filtered = !start.requests.front().key.empty();
    options.is_jsonld = start.is_jsonld;
    options.heartbeat = request.shard.limits.heartbeat;
    return options;
}

} // namespace

boost::asio::awaitable<std::optional<net::response>>
answer_event_stream(exchange& request, std::vector<std::string> streams, bool is_multiple) {
    const event_stream_start start = read_event_stream_start(request, streams, is_multiple);
    hub& shard_hub = request.shard.shard_hub;
    std::vector<opening> openings;
    for (const subscribe_request& asked : start.requests) {
        opening found = co_await shard_hub.open(
            asked.stream, asked.start, asked.epoch, asked.key, start.format(is_multiple)
        );
        if (found.verdict != store::verdict::resolvable) {
            gap_signal gap{asked.stream, found.verdict, found.bounds};
            co_return co_await refuse_start(request, start, std::move(gap));
        }
        openings.push_back(std::move(found));
    }
    if (request.is_head) co_return event_stream_head();

    event_stream response{
        request.connection, request.shard.shard_watchdog, options_of(request, start, is_multiple)};
    stream_group group{shard_hub, response};
    for (std::size_t i = 0; i < openings.size(); ++i)
        group.add(std::move(openings[i]), start.requests[i]);
    net::response head = event_stream_head();
    request.dress(head);
    response.begin(head);
    const ending why = co_await group.run();
    if (why == ending::shutdown || why == ending::store_failed) response.ask_to_return();
    co_await request.connection.end_stream();
    co_return std::nullopt;
}

} // namespace streamld::api
