// The hub's reads of the store: single flights, a bounded number at a time.

#include "hub/hub.hpp"

#include <boost/scope_exit.hpp>

#include <algorithm>
#include <utility>

namespace streamld {

/// A reading that several wait for. Done exactly once, with a value or a fault.
struct hub::shared_reading {
    std::vector<wakeup*> waiting;
    std::exception_ptr fault;
    bool is_done = false;

    void finish() {
        is_done = true;
        for (wakeup* const one : waiting)
            one->notify();
    }
};

struct hub::bounds_reading : shared_reading {
    store::stream_bounds bounds;
};

struct hub::page_reading : shared_reading {
    std::shared_ptr<const frame_page> page;
    store::read_request request;
};

boost::asio::awaitable<void> hub::finished(std::shared_ptr<shared_reading> reading) {
    wakeup done{turn_};
    reading->waiting.push_back(&done);
    BOOST_SCOPE_EXIT_ALL(&reading, &done) {
        std::erase(reading->waiting, &done);
    };
    while (!reading->is_done)
        co_await done.wait();
    if (reading->fault) std::rethrow_exception(reading->fault);
}

/// A reading that began before the caller asked may be too old to tell it "ahead": every caller
/// joins the next one.
boost::asio::awaitable<store::stream_bounds> hub::fresh_bounds(std::string stream) {
    bounds_queue& queue = bounds_queues_[stream];
    if (!queue.next) queue.next = std::make_shared<bounds_reading>();
    const std::shared_ptr<bounds_reading> mine = queue.next;
    if (!queue.is_served) {
        queue.is_served = true;
        jobs_.spawn("bounds", serve_bounds(std::move(stream)));
    }
    co_await finished(mine);
    co_return mine->bounds;
}

boost::asio::awaitable<void> hub::serve_bounds(std::string stream) {
    while (const std::shared_ptr<bounds_reading> reading = std::move(bounds_queues_[stream].next)) {
        try {
            co_await take_read_seat();
            BOOST_SCOPE_EXIT_ALL(this) {
                leave_read_seat();
            };
            probes_.store_read();
            const std::optional<store::stream_info> info =
                co_await engine_.info(stream, read_deadline());
            if (info) reading->bounds = info->bounds;
        } catch (...) {
            reading->fault = std::current_exception();
        }
        reading->finish();
    }
    bounds_queues_.erase(stream);
}

boost::asio::awaitable<std::shared_ptr<const frame_page>>
hub::catch_up(stream_tail& tail, offset_t after, offset_t through, std::string key) {
    const auto tail_entry = tails_.find(tail_key{tail.stream(), tail.format()});
    const std::shared_ptr<stream_tail> shared_tail = tail_entry->second;
    page_key identity{tail_entry->first, after, through, std::move(key)};
    const auto [flight, is_new] = page_readings_.try_emplace(identity);
    if (is_new) flight->second = std::make_shared<page_reading>();
    // Held from here on: a reading that is answered at once leaves the map inside spawn().
    const std::shared_ptr<page_reading> mine = flight->second;
    if (is_new) {
        store::read_request& request = mine->request;
        request.stream = tail.stream();
        request.after = after;
        request.through = through;
        request.key = identity.key;
        const tail_view seen = tail.view();
        // What the tail holds need not be read again; the page then fits right in front of it.
        if (request.key.empty() && tail.has_blocks() && after < seen.first - 1)
            request.through = std::min(through, seen.first - 1);
        jobs_.spawn("catch-up", fly(std::move(identity), shared_tail));
    }
    co_await finished(mine);
    co_return mine->page;
}

boost::asio::awaitable<void> hub::fly(page_key identity, std::shared_ptr<stream_tail> tail) {
    const std::shared_ptr<page_reading> reading = page_readings_.at(identity);
    try {
        reading->page = co_await read_page(tail, reading->request);
        if (tail->leases > 0) keep_page(*tail, *reading->page, reading->request);
    } catch (...) {
        reading->fault = std::current_exception();
    }
    page_readings_.erase(identity);
    reading->finish();
}

/// History that touches the tail becomes part of it: the next readers at about that place find it
/// in memory.
void hub::keep_page(stream_tail& tail, const frame_page& page, const store::read_request& request) {
    learn(tail, page.bounds);
    if (!page.block || !request.key.empty() || page.bounds.epoch != tail.bounds.epoch) return;
    const std::size_t before = tail.memory();
    const bool had_blocks = tail.has_blocks();
    if (tail_bytes_ + page.block->memory() > limits_.tail_bytes_max) return;
    if (tail.prepend(page.block))
        account(tail, before, had_blocks);
    else if (add_to_tail(tail, page.block) == tail_change::extended)
        tail.notify_all();
}

boost::asio::awaitable<std::shared_ptr<const frame_page>>
hub::read_page(std::shared_ptr<stream_tail> tail, store::read_request request) {
    co_await take_read_seat();
    BOOST_SCOPE_EXIT_ALL(this) {
        leave_read_seat();
    };
    request.events_max = limits_.page_events_max;
    request.bytes_max = limits_.page_bytes_max;
    probes_.store_read();
    const store::event_page read = co_await engine_.read(std::move(request), read_deadline());
    auto page = std::make_shared<frame_page>();
    page->bounds = read.bounds;
    page->scanned = read.scanned;
    if (!read.events.empty()) {
        block_builder builder{tail->stream(), read.bounds.epoch, tail->format()};
        for (const store::event_view& event : read.events)
            builder.add(event);
        page->block = builder.finish({});
    }
    co_return page;
}

boost::asio::awaitable<void> hub::take_read_seat() {
    while (reads_under_way_ >= limits_.reads_max) {
        wakeup free{turn_};
        waiting_for_seat_.push_back(&free);
        co_await free.wait();
    }
    ++reads_under_way_;
}

void hub::leave_read_seat() noexcept {
    --reads_under_way_;
    if (!waiting_for_seat_.empty()) {
        waiting_for_seat_.front()->notify();
        waiting_for_seat_.pop_front();
    }
}

} // namespace streamld
