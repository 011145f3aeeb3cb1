#include "store/postgres/held_streams.hpp"

#include "store/postgres/queries.hpp"

#include <algorithm>

namespace streamld::store::postgres {

namespace {

using clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr std::size_t lanes = 4;
constexpr std::size_t group_bytes_max = std::size_t{32} << 20;

// The longest single wait for a lock, alone and where other held streams wait for a lane.
constexpr milliseconds wait_alone{1000};
constexpr milliseconds wait_in_turn{250};
constexpr milliseconds wait_least{10};

// What still waits when the engine closes is given so much longer.
constexpr milliseconds wait_at_close{500};

// From when on a held stream is worth a line in the log.
constexpr milliseconds worth_telling{500};
constexpr int looks_at_holder = 5;

} // namespace

held_streams::held_streams(
    engine_loop& loop,
    pool& waiters,
    pool& background,
    store_observer& observer,
    write_health& health,
    group_commit& commit,
    const open_options& options
)
    : loop_(loop), waiters_(waiters), background_(background), observer_(observer), health_(health),
      commit_(commit), options_(options), has_turn_(loop.executor()) {}

void held_streams::start() {
    for (std::size_t lane = 0; lane < lanes; ++lane)
        loop_.spawn(serve());
}

void held_streams::add(append_list found) {
    // From the last to the first, so that each goes in front of its stream's queue.
    while (!found.empty()) {
        append_list last;
        last.push_back(std::move(found.back()));
        found.pop_back();
        const std::string stream = last.front()->publish.request.stream;
        const auto [place, is_new] = streams_.try_emplace(stream);
        if (is_new) {
            place->second.since = clock::now();
            turns_.push_back(stream);
        }
        place->second.queue.push_front(std::move(last));
    }
    note_count();
    has_turn_.notify();
}

void held_streams::push(pending_ptr next) {
    streams_.at(next->publish.request.stream).queue.push(std::move(next));
}

void held_streams::refuse_late(deadline_t now) {
    const auto fault = std::make_exception_ptr(
        error(errc::busy, "another transaction holds the stream; the deadline passed first")
    );
    for (auto& [name, held] : streams_) {
        append_list late = held.queue.take_late(now);
        refuse(late, fault);
    }
}

void held_streams::close() noexcept {
    is_closing_ = true;
    for (auto& [name, held] : streams_)
        held.queue.hurry(clock::now() + wait_at_close);
    has_turn_.notify();
}

boost::asio::awaitable<void> held_streams::serve() {
    for (;;) {
        while (turns_.empty()) {
            if (is_closing_ && streams_.empty()) co_return;
            co_await has_turn_.wait(deadline_t::max());
        }
        const std::string stream = std::move(turns_.front());
        turns_.pop_front();
        // The entry stays: only the lane that has the stream's turn removes it.
        held_stream& held = streams_.at(stream);
        const bool is_reached = co_await attempt(stream, held);
        if (held.queue.empty()) {
            finish(stream);
            continue;
        }
        turns_.push_back(stream);
        if (!is_reached) {
            // The database is away: its return is looked for now and then.
            co_await has_turn_.wait(clock::now() + wait_in_turn);
        }
    }
}

/// False if no connection could be had.
boost::asio::awaitable<bool> held_streams::attempt(const std::string& stream, held_stream& held) {
    if (held.queue.empty()) co_return true;
    lease db;
    std::optional<postgres_fault> fault;
    try {
        db = co_await waiters_.acquire(held.queue.earliest_deadline());
    } catch (const postgres_fault& caught) {
        fault = caught;
    } catch (const error&) {
        co_return false;
    }
    if (fault) {
        health_.bad(*fault);
        append_list old = held.queue.take_older(clock::now() - options_.postgres.outage_patience);
        refuse(old, std::make_exception_ptr(error(fault->which(), fault->detail())));
        co_return false;
    }
    append_list members = held.queue.take_group(options_.group_events_max, group_bytes_max);
    postgres::refuse_late(members, clock::now());
    if (members.empty()) co_return true;
    if (clock::now() - held.since > worth_telling && !held.is_reported) {
        held.is_reported = true;
        loop_.spawn(tell_who_holds(stream, db->backend_pid()));
    }
    const milliseconds wait = patience(members);
    append_list left = co_await commit_.run(*db, std::move(members), wait);
    held.queue.push_front(std::move(left));
    if (is_closing_) held.queue.hurry(clock::now() + wait_at_close);
    co_return true;
}

milliseconds held_streams::patience(const append_list& members) const {
    deadline_t earliest = deadline_t::max();
    for (const auto& member : members)
        earliest = std::min(earliest, member->deadline);
    const auto left = std::chrono::duration_cast<milliseconds>(earliest - clock::now());
    return std::clamp(left, wait_least, turns_.empty() ? wait_alone : wait_in_turn);
}

// Runs beside the statement of `waiting_pid`, which begins to wait about now.
boost::asio::awaitable<void> held_streams::tell_who_holds(std::string stream, int waiting_pid) {
    std::string holder = "another transaction";
    try {
        for (int look = 0; look < looks_at_holder && holds(stream); ++look) {
            const auto until = clock::now() + wait_alone;
            lease db = co_await background_.acquire(until);
            query who(queries::blockers);
            who.small(waiting_pid);
            const result row = co_await ask(*db, std::move(who), until);
            if (row.rows() > 0) {
                holder = "process " + std::to_string(row.integer(0, 0)) + " (user " +
                         row.text(0, 1) + ", application " + row.text(0, 2) + ", " +
                         row.text(0, 3) + ", since " + std::to_string(row.integer(0, 4)) + " s)";
                break;
            }
            db.give_back();
            co_await has_turn_.wait(clock::now() + wait_least);
        }
    } catch (const error&) {
        // Who holds it is a courtesy; that it is held is told all the same.
    }
    if (!holds(stream)) co_return;
    observer_.trouble(
        make_error_code(errc::busy), "publishes to stream \"" + stream + "\" wait for " + holder
    );
}

void held_streams::finish(const std::string& stream) {
    const bool is_reported = streams_.at(stream).is_reported;
    streams_.erase(stream);
    note_count();
    if (is_reported)
        observer_.trouble({}, "publishes to stream \"" + stream + "\" need not wait any more");
    if (is_closing_ && streams_.empty()) has_turn_.notify();
}

void held_streams::note_count() noexcept {
    count_.store(streams_.size(), std::memory_order_relaxed);
}

} // namespace streamld::store::postgres
