#include "hub/subscription.hpp"

#include <algorithm>
#include <utility>

namespace streamld {

namespace {

constexpr std::chrono::milliseconds outage_pause_most{2000};

} // namespace

subscription::subscription(
    hub& owner, tail_lease lease, offset_t after, sink& to, subscription_options options
)
    : hub_(owner), tail_(std::move(lease)), sink_(to), options_(std::move(options)),
      cursor_(after, options_.through), wakeup_(owner.shard_turn()) {
    tail_->add_waiter(wakeup_);
    sink_.watch(wakeup_);
}

subscription::~subscription() {
    sink_.unwatch(wakeup_);
    tail_->remove_waiter(wakeup_);
}

store::stream_bounds subscription::bounds() const {
    return hub::known_bounds(*tail_);
}

void subscription::stop(ending why) noexcept {
    if (!stopped_) stopped_ = why;
    wakeup_.notify();
}

boost::asio::awaitable<ending> subscription::run() {
    hub_.shard_probes().reader_opened(options_.by);
    const ending why = co_await loop();
    hub_.shard_probes().reader_ended(options_.by, why);
    co_return why;
}

// Invariant: everything up to cursor_ was given to the sink (or left out by the key), nothing
// beyond it was. Each round looks anew at what other coroutines may have changed meanwhile: the
// tail, the sink, stopped_.
boost::asio::awaitable<ending> subscription::loop() {
    for (;;) {
        if (stopped_) co_return *stopped_;
        if (sink_.is_gone()) co_return ending::client_left;
        if (!sink_.wants_more()) co_return ending::finished;
        if (!sink_.is_ready()) {
            co_await wakeup_.wait();
            continue;
        }
        switch (cursor_.next(tail_->view())) {
        case step::send_frames:
            send_from_tail();
            break;
        case step::read_page: {
            const std::optional<ending> ended = co_await take_page();
            if (ended) co_return *ended;
            break;
        }
        case step::wait_for_more:
            if (!std::exchange(was_caught_up_, true)) {
                sink_.caught_up(cursor_.position());
                break; // Look again: saying so may have changed the sink.
            }
            co_await wakeup_.wait();
            break;
        case step::finish:
            co_return cursor_.position() >= cursor_.through() ? ending::finished : ending::shutdown;
        }
    }
}

void subscription::send_from_tail() {
    const auto [block, from] = tail_->find(cursor_.position() + 1);
    const block_ptr shared = *block; // The tail may drop it while the sink still sends it.
    give(shared, from);
    const auto noticed = shared->noticed_at();
    if (noticed != std::chrono::steady_clock::time_point{})
        hub_.shard_probes().reached_the_wire(std::chrono::steady_clock::now() - noticed);
}

/// Gives the frames from index `from` on, up to `through`, in runs that the key lets pass.
void subscription::give(const block_ptr& block, std::size_t from) {
    std::size_t to = block->size();
    while (to > from && block->sequence(to - 1) > cursor_.through())
        --to;
    std::size_t given = 0;
    const auto passes = [&](std::size_t i) {
        return options_.key.empty() || block->key(i) == options_.key;
    };
    for (std::size_t begin = from; begin < to;) {
        if (!passes(begin)) {
            ++begin;
            continue;
        }
        std::size_t end = options_.key.empty() ? to : begin + 1;
        while (end < to && passes(end))
            ++end;
        sink_.frames(frame_slice{block, begin, end});
        given += end - begin;
        begin = end;
    }
    if (to > from) cursor_.advance(block->sequence(to - 1));
    sink_.moved(cursor_.position());
    hub_.shard_probes().delivered(options_.by, given);
}

boost::asio::awaitable<std::optional<ending>> subscription::take_page() {
    std::shared_ptr<const frame_page> page;
    std::optional<store::errc> fault;
    try {
        page = co_await hub_.catch_up(*tail_, cursor_.position(), cursor_.through(), options_.key);
    } catch (const store::error& caught) {
        fault = caught.which(); // Not logged here: the store's trouble is, once.
    }
    if (fault) {
        const std::optional<ending> ended = co_await wait_out(*fault);
        co_return ended;
    }
    outage_.reset();
    if (stopped_ || sink_.is_gone()) co_return std::nullopt;
    if (const auto lost = lost_in(*page)) co_return tell_gap(*lost, page->bounds);
    if (page->block) give(page->block, 0);
    cursor_.advance(page->scanned);
    sink_.moved(cursor_.position());
    co_return std::nullopt;
}

/// A subscription keeps its place while the store is away for a while; then, and a read at once, it
/// is told to come back.
boost::asio::awaitable<std::optional<ending>> subscription::wait_out(store::errc fault) {
    const auto now = std::chrono::steady_clock::now();
    if (!outage_) outage_.emplace(now);
    const bool is_passing = fault == store::errc::unavailable || fault == store::errc::busy;
    const bool is_over = now - outage_->since >= hub_.limits().outage_patience;
    if (!is_passing || is_over || options_.is_read || hub_.is_draining())
        co_return ending::store_failed;
    outage_->pause = std::min(outage_->pause * 2, outage_pause_most);
    co_await hub_.pause(outage_->pause);
    co_return std::nullopt;
}

std::optional<store::verdict> subscription::lost_in(const frame_page& page) const {
    if (options_.is_read) return std::nullopt;
    const store::verdict now = store::judge(cursor_.position(), options_.epoch, page.bounds);
    return now == store::verdict::resolvable ? std::nullopt : std::optional{now};
}

ending subscription::tell_gap(store::verdict why, const store::stream_bounds& bounds) {
    const gap_signal signal{tail_->stream(), why, bounds};
    sink_.gap(signal);
    hub_.shard_probes().gap_told(reason_of(signal));
    return ending::gap;
}

} // namespace streamld
