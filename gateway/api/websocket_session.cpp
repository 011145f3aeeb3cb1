#include "api/websocket_session.hpp"

#include "api/problem.hpp"
#include "base/job_log.hpp"
#include "base/json_string.hpp"
#include "delivery/websocket_sink.hpp"

#include <boost/asio/this_coro.hpp>

#include <algorithm>
#include <random>
#include <utility>

namespace streamld::api {

namespace {

constexpr std::size_t answer_bytes_max = 64 * 1024; // To a peer that does not read.

enum close_code : std::uint16_t {
    unsupported_data = 1003,
    service_restart = 1012,
    try_again_later = 1013
};

/// `{"@type":...` begun; the caller goes on and closes it.
json_object begin_message(std::string& out, std::string_view type) {
    json_object message{out};
    message.text("@type", type);
    return message;
}

void end_message(json_object& message, std::string_view ref_json) {
    if (!ref_json.empty()) message.raw("ref", ref_json);
    message.close();
}

/// Closes are spread so that the clients do not return in one instant: 10 ms for each, within the
/// drain time.
std::chrono::milliseconds drain_delay(const services& shard) {
    thread_local std::minstd_rand random{std::random_device{}()};
    const auto wanted = static_cast<std::int64_t>(shard.shard_probes.connections()) * 10;
    const std::int64_t most = std::min<std::int64_t>(wanted, shard.limits.drain.count() * 8 / 10);
    std::uniform_int_distribution<std::int64_t> spread{0, std::max<std::int64_t>(most, 0)};
    return std::chrono::milliseconds{spread(random)};
}

} // namespace

/// A subscription with its way out.
struct websocket_session::reader {
    websocket_sink to;
    subscription from;

    reader(
        services& shard,
        net::websocket_connection& connection,
        opening found,
        const subscribe_request& asked,
        std::string ref_json,
        bool is_jsonld
    )
        : to(connection, asked.stream, std::move(ref_json), is_jsonld),
          from(shard.shard_hub, std::move(found.tail), found.after, to, options_of(found, asked)) {}

    static subscription_options options_of(const opening& found, const subscribe_request& asked) {
        subscription_options options;
        options.key = asked.key;
        options.epoch = asked.epoch.empty() ? found.bounds.epoch : asked.epoch;
        options.by = transport::websocket;
        return options;
    }
};

websocket_session::websocket_session(
    services& shard,
    std::unique_ptr<net::websocket_connection> connection,
    own_names names,
    bool is_jsonld
)
    : shard_(shard), connection_(std::move(connection)), names_(std::move(names)),
      is_jsonld_(is_jsonld), jobs_(shard.shard_turn, log::failed_jobs_of("api")),
      publish_done_(shard.shard_turn), can_answer_(shard.shard_turn),
      watch_(shard.shard_watchdog, [this](watchdog::clock::time_point now) { look(now); }) {
    connection_->out().watch(can_answer_);
}

websocket_session::~websocket_session() {
    connection_->out().unwatch(can_answer_);
}

boost::asio::awaitable<void> websocket_session::run(std::vector<subscribe_request> at_once) {
    std::exception_ptr fault;
    try {
        co_await serve(std::move(at_once));
    } catch (...) {
        fault = std::current_exception();
    }
    for (const auto& [stream, one] : readers_)
        one->from.stop(connection_->ending() == "stuck" ? ending::stuck : ending::client_left);
    // The jobs refer to this session: a cancelled one waits for them, too.
    co_await boost::asio::this_coro::throw_if_cancelled(false);
    const bool is_cancelled = co_await jobs_.join_though_cancelled();
    if (fault && !is_cancelled) log::failed_jobs_of("api")("websocket session", fault);
    if (fault || is_cancelled) {
        connection_->abort();
        co_return;
    }
    co_await boost::asio::this_coro::throw_if_cancelled(true);
    co_await connection_->finish();
}

boost::asio::awaitable<void> websocket_session::serve(std::vector<subscribe_request> at_once) {
    co_await begin_at_once(std::move(at_once));
    for (;;) {
        co_await wait_for_room();
        const net::message_state state = co_await connection_->read();
        if (state == net::message_state::ended) break;
        if (state == net::message_state::binary)
            connection_->start_close(unsupported_data, "messages are text");
        else
            co_await take_message();
    }
}

/// The handshake is answered, so a fault is told in a message. A client that only listens is sent
/// away where the log cannot be read: nothing would ever come.
boost::asio::awaitable<void> websocket_session::begin_at_once(std::vector<subscribe_request> at_once
) {
    const std::string no_ref;
    std::optional<problem> fault;
    bool is_store_away = false;
    try {
        for (subscribe_request& asked : at_once)
            co_await subscribe(std::move(asked), no_ref);
    } catch (const problem& refused) {
        fault = refused;
    } catch (const store::error& refused) {
        fault.emplace(refused);
        is_store_away = true;
    }
    if (fault) send(fault->to_message(no_ref));
    if (is_store_away) connection_->start_close(try_again_later, "the log cannot be read now");
}

/// Who asks on without reading the answers is not read on: they gather with it, not here. A reader
/// that is only slow with its events is heard.
boost::asio::awaitable<void> websocket_session::wait_for_room() {
    net::outbox& way_out = connection_->out();
    while (answer_bytes_ >= answer_bytes_max && !way_out.is_ready() && !way_out.is_closed())
        co_await can_answer_.wait();
    if (way_out.is_ready()) answer_bytes_ = 0;
}

boost::asio::awaitable<void> websocket_session::take_message() {
    std::string ref_json;
    std::optional<problem> fault;
    try {
        const websocket_message message{connection_->message()};
        ref_json = message.ref_json();
        co_await dispatch(message);
    } catch (const problem& refused) {
        fault = refused;
    } catch (const store::error& refused) {
        fault.emplace(refused);
    }
    if (fault) send(fault->to_message(ref_json));
}

// The message's views point into connection_->message(), which stands until the next read().
boost::asio::awaitable<void> websocket_session::dispatch(const websocket_message& message) {
    const std::string& type = message.type();
    if (type == "SubscriptionRequest") {
        subscribe_request asked = message.to_subscribe_request(names_);
        std::string ref_json{message.ref_json()};
        co_await subscribe(std::move(asked), std::move(ref_json));
    } else if (type == "Publish") {
        co_await begin_publish(message);
    } else if (type == "Unsubscribe") {
        unsubscribe(message);
    } else if (type == "SaveOffset") {
        co_await save_offset(message);
    } else if (type == "Authenticate") {
        message.allow_only({"token"});
        (void)message.text("token"); // An open server ignores tokens.
        if (message.ref_json().empty()) co_return;
        std::string answer;
        json_object object = begin_message(answer, "Authenticated");
        end_message(object, message.ref_json());
        send(std::move(answer));
    } else {
        throw problem{"invalid-request", "unknown @type " + quoted(type)};
    }
}

boost::asio::awaitable<void>
websocket_session::subscribe(subscribe_request asked, std::string ref_json) {
    end_reader(asked.stream, ending::replaced);
    if (readers_.size() >= shard_.limits.subscriptions_per_connection_max)
        throw problem{
            "too-many-requests",
            "this connection has as many subscriptions as it may; unsubscribe first"};
    wire_format format;
    format.how = framing::websocket;
    format.is_jsonld = is_jsonld_;
    opening found =
        co_await shard_.shard_hub.open(asked.stream, asked.start, asked.epoch, asked.key, format);
    if (found.verdict != store::verdict::resolvable) {
        const gap_signal gap{asked.stream, found.verdict, found.bounds};
        shard_.shard_probes.gap_told(reason_of(gap));
        send(gap_json(gap, ref_json));
        co_return;
    }
    if (!ref_json.empty()) {
        std::string answer;
        json_object object = begin_message(answer, "Subscribed");
        object.text("stream", asked.stream);
        if (!found.bounds.epoch.empty()) object.text("epoch", found.bounds.epoch);
        object.number("after", found.after).number("head", found.bounds.head);
        end_message(object, ref_json);
        send(std::move(answer));
    }
    auto one = std::make_shared<reader>(
        shard_, *connection_, std::move(found), asked, std::move(ref_json), is_jsonld_
    );
    readers_[asked.stream] = one;
    jobs_.spawn("websocket reader", read_on(std::move(one)));
}

boost::asio::awaitable<void> websocket_session::read_on(std::shared_ptr<reader> one) {
    const ending why = co_await one->from.run();
    std::erase_if(readers_, [&one](const auto& entry) { return entry.second == one; });
    if (why == ending::store_failed)
        connection_->start_close(try_again_later, "the log cannot be read now");
}

void websocket_session::end_reader(const std::string& stream, ending why) {
    const auto at = readers_.find(stream);
    if (at == readers_.end()) return;
    at->second->from.stop(why); // Gives no frame from here on; its coroutine ends by itself.
    readers_.erase(at);
}

void websocket_session::unsubscribe(const websocket_message& message) {
    message.allow_only({"stream"});
    const std::string stream = message.stream(names_);
    end_reader(stream, ending::client_left);
    if (message.ref_json().empty()) return;
    std::string answer;
    json_object object = begin_message(answer, "Unsubscribed");
    object.text("stream", stream);
    end_message(object, message.ref_json());
    send(std::move(answer));
}

boost::asio::awaitable<void> websocket_session::save_offset(const websocket_message& message) {
    message.allow_only({"stream", "consumer", "offset"});
    const std::string stream = message.stream(names_);
    const std::string consumer = message.text("consumer");
    const store::offset_t offset = message.offset("offset");
    const auto deadline = std::chrono::steady_clock::now() + shard_.limits.store_timeout;
    const store::save_outcome saved =
        co_await shard_.engine.save_offset(stream, consumer, offset, deadline);
    if (message.ref_json().empty()) co_return;
    std::string answer;
    json_object object = begin_message(answer, "OffsetSaved");
    object.text("stream", stream).text("consumer", consumer);
    object.number("offset", saved.offset).boolean("advanced", saved.advanced);
    end_message(object, message.ref_json());
    send(std::move(answer));
}

boost::asio::awaitable<void> websocket_session::begin_publish(const websocket_message& message) {
    store::append_request request =
        message.to_append_request(names_, shard_.limits.payload_bytes_max);
    std::string ref_json{message.ref_json()};
    while (publishes_under_way_ >= shard_.limits.publishes_per_connection_max)
        co_await publish_done_.wait();
    ++publishes_under_way_;
    jobs_.spawn("websocket publish", publish(std::move(request), std::move(ref_json)));
}

boost::asio::awaitable<void>
websocket_session::publish(store::append_request request, std::string ref_json) {
    const std::string stream = request.stream;
    std::optional<problem> fault;
    try {
        const store::append_outcome stored = co_await shard_.publishes.publish(std::move(request));
        if (!ref_json.empty()) {
            std::string answer;
            json_object object = begin_message(answer, "Published");
            object.text("stream", stream).number("sequence", stored.last);
            if (stored.replayed) object.boolean("replayed", true);
            end_message(object, ref_json);
            send(std::move(answer));
        }
    } catch (const store::error& refused) {
        fault.emplace(refused);
    }
    if (fault) send(fault->to_message(ref_json));
    --publishes_under_way_;
    publish_done_.notify();
}

void websocket_session::look(watchdog::clock::time_point now) {
    if (!shard_.is_draining.load(std::memory_order_relaxed)) return;
    if (!close_at_) close_at_ = now + drain_delay(shard_);
    if (now >= *close_at_) connection_->start_close(service_restart, "shutting down");
}

/// In the JSON-LD subprotocol every message is a complete document.
void websocket_session::send(std::string json) {
    if (is_jsonld_) {
        std::string context = "{\"@context\":";
        append_json_string(context, jsonld_context_url());
        context += ',';
        json.replace(0, 1, context);
    }
    answer_bytes_ += json.size();
    connection_->send_text(json);
}

} // namespace streamld::api
