#include "store/postgres/appender.hpp"

#include <algorithm>

namespace streamld::store::postgres {

namespace {

using clock = std::chrono::steady_clock;

constexpr std::size_t group_bytes_max = std::size_t{32} << 20;
constexpr std::chrono::milliseconds expiry_interval{20};
constexpr std::chrono::milliseconds connect_patience{2000};
constexpr std::chrono::milliseconds reconnect_pause{50};

} // namespace

appender::appender(
    engine_loop& loop,
    pools from,
    const open_options& options,
    store_observer& observer,
    write_health& health,
    group_commit::actions what
)
    : loop_(loop), options_(options), health_(health), writers_(from.writers),
      commit_(health, std::move(what)), changed_(loop.executor()), expiring_(loop.executor()),
      held_(loop, from.waiters, from.background, observer, health, commit_, options_) {}

void appender::start() {
    loop_.spawn(serve_groups());
    loop_.spawn(expire());
    held_.start();
}

// ---------------------------------------------------------------- the door

boost::asio::awaitable<append_outcome>
appender::append(checked_append publish, deadline_t deadline) {
    auto next = std::make_unique<pending_append>(std::move(publish), deadline, counts_);
    auto start = [this, next = std::move(next)](completion<append_outcome> done) mutable {
        next->done = std::move(done);
        push(std::move(next));
    };
    return await_completion<append_outcome>(std::move(start));
}

// The publish itself is in the counts already.
bool appender::is_full(std::size_t bytes) const noexcept {
    const std::size_t all_bytes = counts_.bytes.load(std::memory_order_relaxed);
    return counts_.publishes.load(std::memory_order_relaxed) > options_.waiting_appends_max ||
           (all_bytes > options_.waiting_bytes_max && all_bytes > bytes);
}

void appender::push(pending_ptr next) {
    std::optional<error> refusal;
    bool must_wake = false;
    {
        const std::lock_guard lock(mutex_);
        if (is_refusing_) {
            refusal.emplace(errc::closed);
        } else if (is_full(next->seat.bytes())) {
            refusal.emplace(errc::busy, "too many publishes are waiting");
        } else {
            inbox_.push_back(std::move(next));
            must_wake = !std::exchange(is_wake_posted_, true);
        }
    }
    if (refusal) next->done.fail(std::make_exception_ptr(*refusal));
    if (must_wake) loop_.post([this] { take_inbox(); });
}

void appender::take_inbox() {
    append_list taken;
    {
        const std::lock_guard lock(mutex_);
        taken.swap(inbox_);
        is_wake_posted_ = false;
    }
    for (auto& next : taken) {
        if (held_.holds(next->publish.request.stream)) {
            held_.push(std::move(next));
        } else {
            queue_.push(std::move(next));
        }
    }
    changed_.notify();
    if (is_expiry_idle_) expiring_.notify();
}

void appender::refuse_new() noexcept {
    const std::lock_guard lock(mutex_);
    is_refusing_ = true;
}

void appender::close() noexcept {
    take_inbox();
    is_closing_ = true;
    changed_.notify();
    expiring_.notify();
}

// ---------------------------------------------------------------- the main lane

boost::asio::awaitable<void> appender::serve_groups() {
    for (;;) {
        while (queue_.empty()) {
            if (is_closing_) {
                held_.close();
                co_return;
            }
            co_await changed_.wait(deadline_t::max());
        }
        lease db = co_await writer();
        if (!db) continue;
        append_list members = queue_.take_group(options_.group_events_max, group_bytes_max);
        refuse_late(members, clock::now());
        if (members.empty()) continue;
        append_list held =
            co_await commit_.run(*db, std::move(members), std::chrono::milliseconds(0));
        if (!held.empty()) {
            held_.add(std::move(held));
            change_over();
        }
    }
}

// What came for streams that have just been found held belongs behind them.
void appender::change_over() {
    append_list all = queue_.take_older(deadline_t::max());
    for (auto& next : all) {
        if (held_.holds(next->publish.request.stream)) {
            held_.push(std::move(next));
        } else {
            queue_.push(std::move(next));
        }
    }
}

/// Empty where the database is away: whoever has waited long enough is told, and a pause was made.
boost::asio::awaitable<lease> appender::writer() {
    lease db;
    std::optional<postgres_fault> fault;
    try {
        db = co_await writers_.acquire(clock::now() + connect_patience);
    } catch (const postgres_fault& caught) {
        fault = caught;
    } catch (const error&) {
        // No seat within the time, which nobody else takes: try again.
    }
    if (!fault) co_return db;
    health_.bad(*fault);
    append_list old = queue_.take_older(clock::now() - options_.postgres.outage_patience);
    refuse(old, std::make_exception_ptr(error(fault->which(), fault->detail())));
    co_await expiring_.wait(clock::now() + reconnect_pause);
    co_return db;
}

// Deadlines hold also while a lane waits for the database or for a lock.
boost::asio::awaitable<void> appender::expire() {
    while (!(is_closing_ && queue_.empty() && held_.empty())) {
        is_expiry_idle_ = queue_.empty() && held_.empty();
        co_await expiring_.wait(
            is_expiry_idle_ ? deadline_t::max() : deadline_t(clock::now() + expiry_interval)
        );
        is_expiry_idle_ = false;
        const auto now = clock::now();
        append_list late = queue_.take_late(now);
        refuse_late(late, now);
        held_.refuse_late(now);
    }
}

} // namespace streamld::store::postgres
