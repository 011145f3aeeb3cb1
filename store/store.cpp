#include "store/store.hpp"

#include "store/validation.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <iterator>
#include <mutex>
#include <unordered_map>

namespace streamld::store {

namespace {

using boost::asio::awaitable;

constexpr std::chrono::milliseconds look_again{1000}; // A lost hint costs at most this.
constexpr std::size_t subscription_page = 256;

} // namespace

// Who waits for which stream. The engine's threads only ever post to the waiter's executor, and the
// timer that a waiter sleeps on is touched there alone.
class event_store::impl final : public store_observer {
public:
    class waiter : public std::enable_shared_from_this<waiter> {
    public:
        explicit waiter(const boost::asio::any_io_executor& where) : timer_(where) {}

        /// Any thread.
        void wake() {
            auto task = [self = shared_from_this()] {
                self->is_awake_ = true;
                self->timer_.cancel();
            };
            boost::asio::post(timer_.get_executor(), std::move(task));
        }

        awaitable<void> sleep(std::chrono::steady_clock::time_point until) {
            if (is_awake_) co_return;
            timer_.expires_at(until);
            constexpr auto nothrow = boost::asio::as_tuple(boost::asio::use_awaitable);
            co_await timer_.async_wait(nothrow);
        }

    private:
        boost::asio::steady_timer timer_;
        bool is_awake_ = false;
    };

    /// A place in the list of waiters for as long as it lives.
    class place {
    public:
        place(impl& owner, std::string stream, std::shared_ptr<waiter> who)
            : owner_(owner), stream_(std::move(stream)), who_(std::move(who)) {
            const std::lock_guard lock(owner_.mutex_);
            owner_.waiters_.emplace(stream_, who_);
        }

        place(const place&) = delete;
        place& operator=(const place&) = delete;

        ~place() {
            const std::lock_guard lock(owner_.mutex_);
            const auto [first, last] = owner_.waiters_.equal_range(stream_);
            const auto mine = std::find_if(first, last, [this](const auto& entry) {
                return entry.second == who_;
            });
            if (mine != last) owner_.waiters_.erase(mine);
        }

    private:
        impl& owner_;
        std::string stream_;
        std::shared_ptr<waiter> who_;
    };

    explicit impl(std::chrono::milliseconds timeout) : operation_timeout(timeout) {}

    void committed(std::span<const committed_append> appends) noexcept override {
        for (const auto& append : appends)
            wake(std::string(append.stream));
    }

    void grown(std::vector<grown_stream> streams) noexcept override {
        for (const auto& stream : streams)
            wake(stream.stream);
    }

    void look_at_all() noexcept override {
        const std::lock_guard lock(mutex_);
        for (const auto& [stream, who] : waiters_)
            who->wake();
    }

    // A library has no log; the next operation's own error says what is wrong.
    void trouble(boost::system::error_code /*code*/, std::string_view /*what*/) noexcept override {}

    [[nodiscard]] deadline_t deadline() const {
        return std::chrono::steady_clock::now() + operation_timeout;
    }

    const std::chrono::milliseconds operation_timeout;
    std::unique_ptr<engine> inner; // Set once, right after the construction.

private:
    void wake(const std::string& stream) {
        const std::lock_guard lock(mutex_);
        const auto [first, last] = waiters_.equal_range(stream);
        for (auto entry = first; entry != last; ++entry)
            entry->second->wake();
    }

    std::mutex mutex_;
    std::unordered_multimap<std::string, std::shared_ptr<waiter>> waiters_;
};

namespace {

std::vector<stream_event> owned_events(const event_page& page, const std::string& stream) {
    std::vector<stream_event> events;
    events.reserve(page.events.size());
    for (const auto& view : page.events) {
        stream_event& event = events.emplace_back();
        event.offset = view.offset;
        event.stream = stream;
        if (!view.key.empty()) event.key = view.key;
        event.payload = view.payload;
        event.created_at = view.created_at;
        event.is_snapshot = view.is_snapshot;
        event.content_type = view.content_type;
    }
    return events;
}

} // namespace

// ---------------------------------------------------------------- subscription

subscription::subscription(event_store& owner, std::string stream, offset_t after)
    : store_(&owner), stream_(std::move(stream)), cursor_(after) {}

awaitable<std::vector<stream_event>> subscription::next(std::chrono::milliseconds wait) {
    const auto until = std::chrono::steady_clock::now() + wait;
    const auto where = co_await boost::asio::this_coro::executor;
    for (;;) {
        // In place before the look, so that a commit behind the look is not missed.
        const auto who = std::make_shared<event_store::impl::waiter>(where);
        const event_store::impl::place place(*store_->impl_, stream_, who);
        read_request request;
        request.stream = stream_;
        request.after = cursor_;
        request.events_max = subscription_page;
        const auto deadline = store_->impl_->deadline();
        const event_page page = co_await store_->raw().read(std::move(request), deadline);
        // Whoever never read anything yet may wait for a stream that does not exist.
        const verdict judged = judge(cursor_, std::string(), page.bounds);
        if (judged != verdict::resolvable) {
            throw error(
                errc::invalid_cursor,
                judged == verdict::ahead ? "the cursor is beyond the head"
                                         : "the events behind the cursor are trimmed",
                page.bounds.head
            );
        }
        if (!page.events.empty()) {
            cursor_ = page.scanned;
            co_return owned_events(page, stream_);
        }
        const auto now = std::chrono::steady_clock::now();
        if (now >= until) co_return std::vector<stream_event>();
        co_await who->sleep(std::min(until, now + look_again));
    }
}

// ---------------------------------------------------------------- stream

awaitable<offset_t> stream::publish(std::string payload) {
    std::optional<std::string> no_key;
    const offset_t offset = co_await publish_with_key(std::move(no_key), std::move(payload));
    co_return offset;
}

awaitable<offset_t> stream::publish_with_key(std::optional<std::string> key, std::string payload) {
    append_request request;
    request.events.emplace_back(std::move(payload), std::move(key));
    const append_outcome outcome = co_await append(std::move(request));
    co_return outcome.first;
}

awaitable<append_outcome> stream::append(append_request request) {
    request.stream = name_;
    const auto deadline = store_->impl_->deadline();
    const append_outcome outcome = co_await store_->raw().append(std::move(request), deadline);
    co_return outcome;
}

awaitable<std::vector<stream_event>> stream::read_since(offset_t after, std::size_t limit) {
    std::vector<stream_event> events;
    // A page may end early for its bytes; the caller asked for a number of events.
    while (events.size() < limit) {
        read_request request;
        request.stream = name_;
        request.after = after;
        request.events_max = limit - events.size();
        const auto deadline = store_->impl_->deadline();
        const event_page page = co_await store_->raw().read(std::move(request), deadline);
        auto more = owned_events(page, name_);
        std::move(more.begin(), more.end(), std::back_inserter(events));
        after = page.scanned;
        if (after >= page.bounds.head) break;
    }
    co_return events;
}

awaitable<std::vector<stream_event>>
stream::read_from_consumer(std::string consumer, std::size_t limit) {
    const offset_t saved = co_await get_offset(std::move(consumer));
    auto events = co_await read_since(saved, limit);
    co_return events;
}

awaitable<save_outcome> stream::save_offset(std::string consumer, offset_t offset) {
    const auto deadline = store_->impl_->deadline();
    const save_outcome outcome =
        co_await store_->raw().save_offset(name_, std::move(consumer), offset, deadline);
    co_return outcome;
}

awaitable<offset_t> stream::get_offset(std::string consumer) {
    const auto deadline = store_->impl_->deadline();
    const offset_t offset = co_await store_->raw().get_offset(name_, std::move(consumer), deadline);
    co_return offset;
}

awaitable<subscription> stream::subscribe(std::optional<offset_t> after) {
    if (after) {
        require_offset(*after);
        co_return subscription(*store_, name_, *after);
    }
    start_point start;
    const auto deadline = store_->impl_->deadline();
    const position found =
        co_await store_->raw().locate(name_, std::move(start), std::string(), deadline);
    co_return subscription(*store_, name_, found.after);
}

awaitable<trim_outcome> stream::trim_to(offset_t horizon) {
    trim_request request;
    request.stream = name_;
    request.through = horizon;
    const auto deadline = store_->impl_->deadline();
    trim_outcome outcome = co_await store_->raw().trim(std::move(request), deadline);
    co_return outcome;
}

awaitable<std::optional<stream_info>> stream::info() {
    const auto deadline = store_->impl_->deadline();
    auto found = co_await store_->raw().info(name_, deadline);
    co_return found;
}

// ---------------------------------------------------------------- event_store

event_store::event_store(std::unique_ptr<impl> inner) : impl_(std::move(inner)) {}

event_store::~event_store() {
    // The engine goes first: its threads call the observer.
    if (impl_) impl_->inner.reset();
}

std::unique_ptr<event_store> event_store::open(const std::string& url, store_options options) {
    auto inner = std::make_unique<impl>(options.operation_timeout);
    inner->inner = open_engine(url, options.engine, inner.get());
    return std::unique_ptr<event_store>(new event_store(std::move(inner)));
}

stream event_store::stream_named(std::string name) {
    require_stream_name(name);
    return {*this, std::move(name)};
}

awaitable<std::vector<stream_info>>
event_store::streams(std::string prefix, std::string after, std::size_t limit) {
    const auto deadline = impl_->deadline();
    auto found = co_await raw().streams(std::move(prefix), std::move(after), limit, deadline);
    co_return found;
}

awaitable<void> event_store::transaction(std::function<awaitable<void>(tx_handle&)> work) {
    const auto deadline = impl_->deadline();
    co_await raw().transaction(std::move(work), deadline);
}

awaitable<void> event_store::close() {
    co_await raw().close();
}

engine& event_store::raw() noexcept {
    return *impl_->inner;
}

} // namespace streamld::store
