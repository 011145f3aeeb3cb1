#include "store/sqlite/watcher.hpp"

#include "store/sqlite/queries.hpp"

#include <algorithm>
#include <array>

namespace streamld::store::sqlite {

namespace {

constexpr std::int64_t report_max = 4096; // More streams than this are "look at all".

// The file is written before the commit is visible (between the two lies the other program's
// fsync), so one look after the signal is not enough. Nor may the series end at the first move:
// that may have been the commit before. Measured: without the later looks the 99th percentile is
// the fallback poll.
constexpr std::array<std::chrono::microseconds, 9> later_looks{
    std::chrono::microseconds(200),
    std::chrono::microseconds(500),
    std::chrono::milliseconds(1),
    std::chrono::milliseconds(2),
    std::chrono::milliseconds(5),
    std::chrono::milliseconds(10),
    std::chrono::milliseconds(25),
    std::chrono::milliseconds(50),
    std::chrono::milliseconds(100)};

} // namespace

struct watcher::prepared {
    explicit prepared(connection& db)
        : data_version(db, "PRAGMA data_version"), changed_streams(db, queries::changed_streams),
          newest_change(db, queries::newest_change) {}

    statement data_version, changed_streams, newest_change;
};

watcher::watcher(
    const database_settings& settings,
    std::chrono::milliseconds poll_interval,
    store_observer& observer,
    file_identity& identity,
    change_board& board
)
    : settings_(settings), poll_interval_(poll_interval), observer_(observer), identity_(identity),
      board_(board), signal_(settings.path), trouble_(observer) {
    open();
    const row_scope scope(sql_->newest_change);
    sql_->newest_change.step();
    board_.raise_reported(sql_->newest_change.integer(0));
}

watcher::~watcher() {
    stop();
}

void watcher::stop() {
    is_closed_.store(true);
    signal_.poke();
    if (thread_.joinable()) thread_.join();
}

void watcher::start() {
    thread_ = std::thread([this] { serve(); });
}

void watcher::open() {
    db_ = open_connection(settings_, true);
    sql_ = std::make_unique<prepared>(*db_);
    const row_scope scope(sql_->data_version);
    sql_->data_version.step();
    data_version_ = sql_->data_version.integer(0);
}

void watcher::serve() {
    while (!is_closed_.load()) {
        const auto reason = signal_.wait(poll_interval_);
        if (is_closed_.load()) return;
        try {
            identity_.check();
            if (!db_) open();
            if (reason == file_signal::reason::written) {
                wait_out_own_commit();
                look_for_a_while();
            } else {
                look();
            }
            trouble_.clear();
        } catch (const error& fault) {
            sql_.reset();
            db_.reset();
            has_missed_ = true;
            trouble_.raise(fault);
            // A signal that keeps coming must not make this loop spin.
            if (reason == file_signal::reason::written) signal_.wait(std::chrono::milliseconds(50));
        }
    }
}

// Our own writer's commits wake us, too, but it reports them itself. While it writes nobody else
// can; once it has begun another turn, it has looked for others' commits itself.
void watcher::wait_out_own_commit() {
    const auto turn = board_.turns();
    while (board_.is_writing() && board_.turns() == turn && !is_closed_.load())
        signal_.wait(std::chrono::milliseconds(1));
}

// Looks again and again after the last signal, ever more rarely.
void watcher::look_for_a_while() {
    look();
    for (std::size_t next = 0; next < later_looks.size() && !is_closed_.load();) {
        const auto reason = signal_.wait(later_looks[next]);
        if (reason == file_signal::reason::written) wait_out_own_commit();
        next = reason == file_signal::reason::timeout ? next + 1 : 0;
        look();
    }
}

// Reports what was committed since the last look.
void watcher::look() {
    identity_.check();
    {
        const row_scope scope(sql_->data_version);
        sql_->data_version.step();
        const std::int64_t version = sql_->data_version.integer(0);
        if (version == data_version_ && !has_missed_) return;
        data_version_ = version;
    }
    report_changes();
}

void watcher::report_changes() {
    std::vector<store_observer::grown_stream> grown;
    std::int64_t newest = board_.reported();
    {
        auto& query = sql_->changed_streams;
        query.bind(1, newest).bind(2, report_max + 1);
        const row_scope scope(query);
        while (query.step()) {
            auto& added = grown.emplace_back();
            added.stream = query.bytes(0);
            added.head = query.integer(1);
            newest = std::max(newest, query.integer(2));
        }
    }
    if (has_missed_ || grown.size() > static_cast<std::size_t>(report_max)) {
        const row_scope scope(sql_->newest_change);
        sql_->newest_change.step();
        newest = std::max(newest, sql_->newest_change.integer(0));
        has_missed_ = false;
        board_.raise_reported(newest);
        observer_.look_at_all();
        return;
    }
    board_.raise_reported(newest);
    if (!grown.empty()) observer_.grown(std::move(grown));
}

} // namespace streamld::store::sqlite
