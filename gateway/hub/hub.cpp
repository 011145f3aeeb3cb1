#include "hub/hub.hpp"

#include "base/job_log.hpp"
#include "base/nothrow.hpp"
#include "hub/fanout.hpp"

#include <boost/asio/steady_timer.hpp>
#include <boost/assert.hpp>
#include <boost/scope_exit.hpp>

#include <algorithm>
#include <utility>

namespace streamld {

tail_lease::tail_lease(hub& owner, std::shared_ptr<stream_tail> tail) noexcept
    : hub_(&owner), tail_(std::move(tail)) {
    ++tail_->leases;
}

tail_lease& tail_lease::operator=(tail_lease&& other) noexcept {
    if (this != &other) {
        release();
        hub_ = other.hub_;
        tail_ = std::move(other.tail_);
    }
    return *this;
}

tail_lease::~tail_lease() {
    release();
}

void tail_lease::release() noexcept {
    if (tail_ && --tail_->leases == 0) hub_->detach(*tail_);
    tail_.reset();
}

hub::hub(store::engine& log, fanout& group, turn& owner, probes& counters, hub_limits limits)
    : engine_(log), fanout_(group), turn_(owner), probes_(counters), limits_(limits),
      jobs_(owner, log::failed_jobs_of("hub")) {}

hub::~hub() {
    BOOST_ASSERT(tails_.empty());
}

void hub::join_fanout() {
    shard_index_ = fanout_.add(*this);
}

store::deadline_t hub::read_deadline() const {
    return std::chrono::steady_clock::now() + limits_.read_timeout;
}

tail_lease hub::attach(const std::string& stream, wire_format format) {
    std::shared_ptr<stream_tail>& tail = tails_[tail_key{stream, format}];
    if (!tail) {
        tail = std::make_shared<stream_tail>(stream, format);
        // Before any reading: what commits from now on is posted here, what committed before is in
        // the log.
        fanout_.follow(shard_index_, stream, format);
        if (is_draining_) tail->close();
    }
    return tail_lease{*this, tail};
}

void hub::detach(stream_tail& tail) noexcept {
    if (tail.has_blocks()) by_age_.erase(tail.by_age);
    tail_bytes_ -= tail.memory();
    probes_.tail_holds(tail_bytes_);
    fanout_.forget(shard_index_, tail.stream(), tail.format());
    tails_.erase(tail_key{tail.stream(), tail.format()});
}

boost::asio::awaitable<opening> hub::open(
    std::string stream,
    store::start_point start,
    std::string epoch,
    std::string key,
    wire_format format
) {
    opening found;
    found.tail = attach(stream, format);
    stream_tail& tail = *found.tail;
    using store::start_kind;
    if (start.kind == start_kind::after) {
        found.after = start.value;
        found.bounds = known_bounds(tail);
        found.verdict = store::judge(found.after, epoch, found.bounds);
        // What this process knows may be old, and another may have trimmed: only a yes is taken
        // from memory, and only where the next frames are there, too.
        const bool is_at_hand =
            cursor{found.after, store::offset_max}.next(tail.view()) != step::read_page;
        if (found.bounds.exists && is_at_hand && found.verdict == store::verdict::resolvable)
            co_return found;
    }
    if (start.kind == start_kind::after || start.kind == start_kind::live) {
        found.bounds = co_await fresh_bounds(stream);
        if (start.kind == start_kind::live) found.after = found.bounds.head;
    } else {
        probes_.store_read();
        store::position place = co_await engine_.locate(
            std::move(stream), std::move(start), std::move(key), read_deadline()
        );
        found.bounds = std::move(place.info.bounds);
        found.after = place.after;
    }
    learn(tail, found.bounds);
    found.verdict = store::judge(found.after, epoch, found.bounds);
    co_return found;
}

/// The newest frames may be ahead of the last reading of the bounds.
store::stream_bounds hub::known_bounds(const stream_tail& tail) {
    store::stream_bounds known = tail.bounds;
    if (known.exists) known.head = std::max(known.head, tail.view().last);
    return known;
}

void hub::learn(stream_tail& tail, const store::stream_bounds& bounds) {
    const offset_t horizon = std::max(tail.bounds.horizon, bounds.horizon);
    if (tail.bounds.epoch == bounds.epoch) {
        const offset_t head = std::max(tail.bounds.head, bounds.head);
        tail.bounds = bounds;
        tail.bounds.horizon = horizon;
        tail.bounds.head = head;
    } else {
        tail.bounds = bounds;
    }
    if (tail.place(bounds.head) == tail_change::hole) hint(tail, bounds.head);
}

void hub::hint(stream_tail& tail, offset_t head) {
    tail.hinted_head = std::max(tail.hinted_head, head);
    if (!tail.is_following && tail.leases > 0) {
        tail.is_following = true;
        jobs_.spawn("follow", follow(tails_.at(tail_key{tail.stream(), tail.format()})));
    }
}

void hub::take_block(const std::string& stream, wire_format format, const block_ptr& block) {
    const auto at = tails_.find(tail_key{stream, format});
    if (at == tails_.end()) return;
    stream_tail& tail = *at->second;
    switch (add_to_tail(tail, block)) {
    case tail_change::extended:
        tail.notify_all();
        break;
    case tail_change::hole:
        hint(tail, block->last());
        break;
    case tail_change::known:
        break;
    }
}

void hub::take_hint(const std::string& stream, offset_t head) {
    for (auto at = tails_.lower_bound(tail_key{stream, wire_format{framing::sse, false, false}});
         at != tails_.end() && at->first.stream == stream;
         ++at) {
        stream_tail& tail = *at->second;
        if (!tail.view().is_placed || head > tail.view().last) hint(tail, head);
    }
}

void hub::look_at_all() {
    for (const auto& [key, tail] : tails_)
        hint(
            *tail, tail->view().last + 1
        ); // One more than known: the follower reads and finds out.
}

void hub::take_horizon(const std::string& stream, offset_t horizon) {
    for (const auto& [key, tail] : tails_)
        if (key.stream == stream) tail->bounds.horizon = std::max(tail->bounds.horizon, horizon);
}

std::size_t hub::readers_of(const std::string& stream) const {
    std::size_t readers = 0;
    for (const auto& [key, tail] : tails_)
        if (key.stream == stream) readers += tail->waiter_count();
    return readers;
}

tail_change hub::add_to_tail(stream_tail& tail, const block_ptr& block) {
    const std::size_t before = tail.memory();
    const bool had_blocks = tail.has_blocks();
    const tail_change change = tail.extend(block);
    if (change == tail_change::extended) account(tail, before, had_blocks);
    return change;
}

/// A tail that grew goes to the end of by_age_; over the limit the tail that grew longest ago loses
/// its oldest block.
void hub::account(stream_tail& tail, std::size_t memory_before, bool had_blocks) {
    tail_bytes_ = tail_bytes_ + tail.memory() - memory_before;
    if (had_blocks)
        by_age_.splice(by_age_.end(), by_age_, tail.by_age);
    else
        tail.by_age = by_age_.insert(by_age_.end(), &tail);
    while (tail_bytes_ > limits_.tail_bytes_max && !by_age_.empty()) {
        stream_tail& oldest = *by_age_.front();
        tail_bytes_ -= oldest.drop_oldest();
        if (!oldest.has_blocks()) by_age_.pop_front();
    }
    probes_.tail_holds(tail_bytes_);
}

/// Reads what the tail lacks, until it is level with the last hint. One per tail at a time;
/// outlives the tail's leases by at most one read.
boost::asio::awaitable<void> hub::follow(std::shared_ptr<stream_tail> tail) {
    auto backoff = std::chrono::milliseconds{50};
    while (tail->leases > 0 && tail->hinted_head > tail->view().last && !is_closing_) {
        bool is_failed = false;
        try {
            const bool has_grown = co_await follow_once(tail);
            if (!has_grown) break;
            backoff = std::chrono::milliseconds{50};
        } catch (const store::error&) {
            is_failed = true; // The store's trouble is logged by its observer; readers keep their
                              // places meanwhile.
        }
        if (is_failed) {
            co_await pause(backoff);
            backoff = std::min(backoff * 2, std::chrono::milliseconds{2000});
        }
    }
    tail->is_following = false;
}

/// True where the tail moved on.
boost::asio::awaitable<bool> hub::follow_once(std::shared_ptr<stream_tail> tail) {
    const offset_t last = tail->view().last;
    store::read_request request;
    request.stream = tail->stream();
    request.after = last;
    const auto page = co_await read_page(tail, std::move(request));
    if (tail->leases == 0) co_return false;
    learn(*tail, page->bounds);
    if (page->bounds.horizon > tail->view().last) {
        // Trimmed past our end: the readers that stand there are told by their own page.
        restart(*tail, page->bounds);
    } else if (page->block) {
        add_to_tail(*tail, page->block);
    } else {
        tail->hinted_head =
            tail->view().last; // The hint was of another log's life, or already taken.
    }
    const bool has_grown = tail->view().last > last;
    if (has_grown) tail->notify_all();
    co_return has_grown;
}

void hub::restart(stream_tail& tail, const store::stream_bounds& bounds) {
    if (tail.has_blocks()) by_age_.erase(tail.by_age);
    tail_bytes_ -= tail.memory();
    tail.restart(std::max(bounds.horizon, tail.view().last));
    tail.bounds = bounds;
}

boost::asio::awaitable<void> hub::pause(std::chrono::milliseconds time) {
    boost::asio::steady_timer timer{turn_.loop(), time};
    pauses_.push_back(&timer);
    const auto at = std::prev(pauses_.end());
    BOOST_SCOPE_EXIT_ALL(this, at) {
        pauses_.erase(at);
    };
    co_await timer.async_wait(nothrow);
}

void hub::begin_drain() {
    is_draining_ = true;
    for (const auto& [key, tail] : tails_)
        tail->close();
    for (boost::asio::steady_timer* const timer : pauses_)
        timer->cancel();
}

boost::asio::awaitable<void> hub::close() {
    is_closing_ = true;
    for (boost::asio::steady_timer* const timer : pauses_)
        timer->cancel();
    co_await jobs_.join();
}

} // namespace streamld
