#include "store/sqlite/checkpointer.hpp"

#include <sqlite3.h>

#include <algorithm>

namespace streamld::store::sqlite {

namespace {

using clock = std::chrono::steady_clock;

constexpr int pages_between = 1024; // 4 MiB of the usual pages.
constexpr std::chrono::milliseconds tick{1000};
constexpr std::chrono::milliseconds restart_patience{
    250}; // Publishes wait this long at most for somebody's old read.
constexpr std::chrono::milliseconds hold_off_max{8000};

} // namespace

checkpointer::checkpointer(
    const database_settings& settings,
    std::size_t wal_bytes_max,
    store_observer& observer,
    file_identity& identity
)
    : settings_(settings), log_path_(settings.path + "-wal"), wal_bytes_max_(wal_bytes_max),
      identity_(identity), trouble_(observer) {
    thread_ = std::thread([this] { serve(); });
}

checkpointer::~checkpointer() {
    stop();
}

void checkpointer::stop() {
    {
        const std::lock_guard lock(mutex_);
        is_closed_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
}

void checkpointer::log_has_pages(int pages) noexcept {
    bool is_due = false;
    {
        const std::lock_guard lock(mutex_);
        if (pages < pages_) pages_done_ = 0; // The log began anew.
        pages_ = pages;
        is_due = pages_ - pages_done_ >= pages_between;
    }
    if (is_due) changed_.notify_one();
}

// True if the writer asked, false at the tick.
bool checkpointer::wait(std::chrono::milliseconds at_most) {
    std::unique_lock lock(mutex_);
    const bool is_due = changed_.wait_for(lock, at_most, [this] {
        return is_closed_ || pages_ - pages_done_ >= pages_between;
    });
    pages_done_ = pages_;
    return is_due;
}

void checkpointer::serve() {
    for (;;) {
        const bool is_due = wait(tick);
        bool is_closed = false;
        {
            const std::lock_guard lock(mutex_);
            is_closed = is_closed_;
        }
        try {
            if (is_closed) {
                checkpoint(SQLITE_CHECKPOINT_TRUNCATE);
                db_.reset();
                return;
            }
            look_after_log(!is_due);
            trouble_.clear();
        } catch (const error& fault) {
            db_.reset();
            if (is_closed) return;
            trouble_.raise(fault);
            wait(tick);
        }
    }
}

void checkpointer::look_after_log(bool is_idle) {
    const std::uint64_t size = file_size(log_path_);
    const auto kept = static_cast<std::uint64_t>(settings_.wal_bytes_kept);
    // Others write, too, so the tick looks at the size; but a log that rests is left alone.
    if (is_idle && (size <= pages_between * page_bytes_ || size == settled_size_)) return;
    const progress passed = checkpoint(SQLITE_CHECKPOINT_PASSIVE);
    const bool is_long = passed.log_bytes > kept || size > wal_bytes_max_ / 2;
    const bool is_left_over = is_idle && size > kept;
    if ((is_long || is_left_over) && clock::now() >= not_before_) {
        const bool shrink = is_left_over || size > wal_bytes_max_ / 2;
        const progress restarted =
            checkpoint(shrink ? SQLITE_CHECKPOINT_TRUNCATE : SQLITE_CHECKPOINT_RESTART);
        // Somebody's long read is in the way; trying at once again would only keep the publishers
        // waiting.
        hold_off_ = restarted.is_done ? std::chrono::milliseconds(0)
                                      : std::min(hold_off_ * 2 + tick, hold_off_max);
        not_before_ = clock::now() + hold_off_;
    }
    settled_size_ = passed.is_done ? file_size(log_path_) : 0;
}

checkpointer::progress checkpointer::checkpoint(int mode) {
    // Never by a path that leads to somebody else's file by now.
    identity_.check();
    if (!db_) {
        db_ = open_connection(settings_, false);
        db_->be_patient(restart_patience);
        page_bytes_ = static_cast<std::uint64_t>(db_->integer_of("PRAGMA page_size"));
    }
    int log = 0;
    int done = 0;
    const int result = sqlite3_wal_checkpoint_v2(db_->raw(), "main", mode, &log, &done);
    if (result != SQLITE_OK && (result & 0xFF) != SQLITE_BUSY) db_->fail(result);
    progress made;
    made.log_bytes = static_cast<std::uint64_t>(std::max(log, 0)) * page_bytes_;
    made.is_done = result == SQLITE_OK && log == done;
    return made;
}

} // namespace streamld::store::sqlite
