#include "store/sqlite/writer.hpp"

#include <algorithm>
#include <array>

namespace streamld::store::sqlite {

namespace {

using clock = std::chrono::steady_clock;

constexpr std::size_t group_bytes_max = std::size_t{32} << 20;
constexpr std::chrono::milliseconds expiry_interval{20};
constexpr std::chrono::seconds shared_interval{1};
constexpr std::chrono::milliseconds give_way_max{2};

error late() {
    return error(errc::busy, "the deadline passed before the write's turn came");
}

} // namespace

writer::writer(
    const database_settings& settings,
    const open_options& options,
    store_observer& observer,
    file_identity& identity,
    change_board& board,
    signals tell
)
    : settings_(settings), options_(options), observer_(observer), identity_(identity),
      board_(board), tell_(std::move(tell)), trouble_(observer) {
    const auto unfinished = books().unfinished_trims();
    purges_.assign(unfinished.begin(), unfinished.end());
    thread_ = std::thread([this] { serve(); });
}

writer::~writer() {
    stop();
}

void writer::stop() {
    {
        const std::lock_guard lock(mutex_);
        is_closed_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
}

// ---------------------------------------------------------------- the queue

void writer::push(std::unique_ptr<pending_write> next) {
    std::optional<error> refusal;
    {
        const std::lock_guard lock(mutex_);
        // Even a publish over the byte limit may wait if it waits alone.
        const bool is_full =
            waiting_.size() >= options_.waiting_appends_max ||
            (!waiting_.empty() && waiting_bytes_ + next->bytes() > options_.waiting_bytes_max);
        if (is_closed_) {
            refusal.emplace(errc::closed);
        } else if (is_full) {
            refusal.emplace(errc::busy, "too many publishes are waiting");
        } else {
            waiting_bytes_ += next->bytes();
            waiting_.push_back(std::move(next));
            waiting_count_.store(waiting_.size(), std::memory_order_relaxed);
        }
    }
    if (refusal) {
        next->settle(std::make_exception_ptr(*refusal));
    } else {
        changed_.notify_one();
    }
}

boost::asio::awaitable<nothing> writer::enter(std::shared_ptr<session> own) {
    auto start = [this, own = std::move(own)](completion<nothing> done) mutable {
        own->entered = std::move(done);
        bool is_refused = false;
        {
            const std::lock_guard lock(mutex_);
            is_refused = is_closed_;
            if (!is_refused) sessions_.push_back(own);
        }
        if (is_refused) {
            own->entered.fail(std::make_exception_ptr(error(errc::closed)));
        } else {
            changed_.notify_one();
        }
    };
    return await_completion<nothing>(std::move(start));
}

writer::group writer::take_group() {
    group taken;
    std::size_t events = 0;
    std::size_t bytes = 0;
    const std::lock_guard lock(mutex_);
    while (!waiting_.empty()) {
        auto& next = waiting_.front();
        events += next->events();
        bytes += next->bytes();
        const bool is_too_much = events > options_.group_events_max || bytes > group_bytes_max;
        if (is_too_much && !taken.empty()) break;
        waiting_bytes_ -= next->bytes();
        taken.push_back(std::move(next));
        waiting_.pop_front();
    }
    waiting_count_.store(waiting_.size(), std::memory_order_relaxed);
    return taken;
}

// Answers those whose deadline passed while the writer waits for a lock or serves a long
// transaction.
void writer::expire_waiting() {
    const auto now = clock::now();
    if (now - expired_at_ < expiry_interval) return;
    expired_at_ = now;
    group expired;
    std::vector<std::shared_ptr<session>> expired_sessions;
    {
        const std::lock_guard lock(mutex_);
        std::deque<std::unique_ptr<pending_write>> kept;
        for (auto& next : waiting_) {
            if (next->deadline() > now) {
                kept.push_back(std::move(next));
            } else {
                waiting_bytes_ -= next->bytes();
                expired.push_back(std::move(next));
            }
        }
        waiting_.swap(kept);
        waiting_count_.store(waiting_.size(), std::memory_order_relaxed);
        for (auto& own : sessions_)
            if (own->deadline() <= now) expired_sessions.push_back(std::move(own));
        std::erase(sessions_, nullptr);
    }
    const auto fault = std::make_exception_ptr(late());
    for (const auto& next : expired)
        next->settle(fault);
    for (const auto& own : expired_sessions)
        own->entered.fail(fault);
}

bool writer::wait_for_work() {
    std::unique_lock lock(mutex_);
    const auto has_work = [this] { return is_closed_ || !waiting_.empty() || !sessions_.empty(); };
    if (purges_.empty()) changed_.wait(lock, has_work);
    return !(is_closed_ && waiting_.empty() && sessions_.empty());
}

// ---------------------------------------------------------------- the thread

void writer::serve() {
    while (wait_for_work()) {
        std::shared_ptr<session> own;
        bool has_group = false;
        {
            const std::lock_guard lock(mutex_);
            has_group = !waiting_.empty();
            if (!sessions_.empty()) {
                own = std::move(sessions_.front());
                sessions_.pop_front();
            }
        }
        // Each kind of work gets its turn, so none can starve another.
        if (has_group) {
            const auto began = clock::now();
            commit_group();
            give_way(began);
        }
        if (own) serve_session(own);
        if (!purges_.empty()) delete_trimmed();
    }
}

ledger& writer::books() {
    if (!books_) {
        patience how_long;
        how_long.busy_timeout = settings_.busy_timeout;
        how_long.meanwhile = [this] { expire_waiting(); };
        books_ = std::make_unique<ledger>(settings_, std::move(how_long));
    }
    return *books_;
}

void writer::begin() {
    identity_.check();
    const bool has_foreign = books().begin();
    board_.begin_writing();
    if (!has_foreign) return;
    foreign_at_ = clock::now();
    tell_.foreign_commit();
}

// After the COMMIT: first the reports, in commit order, then the answers (by the caller of this).
void writer::finish_commit() {
    if (const auto change = books_->change()) board_.report_own(*change);
    board_.end_writing();
    purges_.insert(purges_.end(), books_->purges().begin(), books_->purges().end());
    if (!books_->appends().empty()) observer_.committed(books_->appends());
    if (!books_->has_written()) return;
    tell_.wal_has_pages(books_->wal_pages());
    note(nullptr);
    trouble_.clear();
}

void writer::commit_group() {
    group members;
    std::exception_ptr fault;
    try {
        begin();
        // Taken under the lock: what came in while we waited for it joins this group.
        members = take_group();
        apply_group(members);
        books_->commit();
    } catch (const error& caught) {
        fault = std::current_exception();
        recover(caught);
    } catch (const std::exception&) {
        const error general(errc::unavailable, "out of memory");
        fault = std::make_exception_ptr(general);
        recover(general);
    }
    if (fault && members.empty()) members = take_group();
    if (!fault) finish_commit();
    for (const auto& member : members)
        member->settle(fault);
}

// Whoever waits for SQLite's lock looks for it now and then, and would hardly ever find it between
// two groups of a busy gateway. So where another program has written lately, the lock lies open for
// a part of the time; meanwhile the next group grows.
void writer::give_way(deadline_t began) {
    const auto now = clock::now();
    if (now - foreign_at_ > shared_interval) return;
    const auto pause = std::min<clock::duration>((now - began) / 4, give_way_max);
    std::unique_lock lock(mutex_);
    if (waiting_.empty()) return;
    changed_.wait_for(lock, pause, [this] { return is_closed_; });
}

void writer::apply_group(const group& members) {
    const auto now = clock::now();
    for (const auto& member : members) {
        if (member->deadline() > now) {
            member->apply(*books_);
        } else {
            member->expire();
        }
    }
}

void writer::recover(const error& fault) noexcept {
    board_.end_writing();
    const bool is_usable = books_ && books_->roll_back();
    const bool is_passing = fault.which() == errc::busy || fault.which() == errc::full;
    // A connection that met an I/O fault is not trusted again; the next turn opens another.
    if (!is_usable || !is_passing) books_.reset();
    note(std::make_exception_ptr(fault));
    trouble_.raise(fault);
}

void writer::note(std::exception_ptr fault) noexcept {
    const std::lock_guard lock(mutex_);
    last_write_.at = clock::now();
    last_write_.fault = std::move(fault);
}

writer::health writer::last_write() const {
    const std::lock_guard lock(mutex_);
    return last_write_;
}

// ---------------------------------------------------------------- transactions of the callers

void writer::serve_session(const std::shared_ptr<session>& own) {
    if (own->deadline() <= clock::now()) {
        own->entered.fail(std::make_exception_ptr(late()));
        return;
    }
    try {
        begin();
    } catch (const error& fault) {
        recover(fault);
        own->entered.fail(std::make_exception_ptr(fault));
        return;
    }
    own->entered.succeed({});
    const auto fault = run_session(*own);
    own->close(fault);
}

// Runs the steps to the end that the caller asks for, or to the deadline. Null: as the caller
// wished.
std::exception_ptr writer::run_session(session& own) {
    try {
        auto ending = session::ending::none;
        while (ending == session::ending::none) {
            const auto now = clock::now();
            if (now >= own.deadline())
                throw error(errc::busy, "the transaction's deadline passed; it was rolled back");
            const auto until = std::min(own.deadline(), now + expiry_interval);
            if (const auto step = own.next(until)) step->run(*books_);
            if (own.fault()) std::rethrow_exception(own.fault());
            if (!books_->is_in_transaction())
                throw error(errc::statement, "a statement ended the transaction");
            expire_waiting();
            ending = own.asked_ending();
        }
        if (ending == session::ending::commit) {
            books_->commit();
            finish_commit();
            return nullptr;
        }
        if (!books_->roll_back()) books_.reset();
        board_.end_writing();
        return nullptr;
    } catch (const storage_fault& fault) {
        recover(fault);
    } catch (const error&) {
        // The caller's own doing says nothing about the storage's health.
        if (!books_->roll_back()) books_.reset();
        board_.end_writing();
        return std::current_exception();
    }
    return last_write().fault;
}

// ---------------------------------------------------------------- trimmed rows

// One piece in a short transaction of its own, so a publish waits for no more than that.
void writer::delete_trimmed() {
    try {
        begin();
        const bool is_done = books_->delete_piece(purges_.front());
        books_->commit();
        board_.end_writing();
        tell_.wal_has_pages(books_->wal_pages());
        if (is_done) purges_.pop_front();
    } catch (const error& fault) {
        recover(fault);
        // The events are hidden already; the rows go after the next open or the next trim of the
        // stream.
        purges_.clear();
    }
}

} // namespace streamld::store::sqlite
