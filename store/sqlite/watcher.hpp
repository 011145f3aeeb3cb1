#pragma once
// Notices what others commit: other processes, plain SQL, other engines. One thread with one
// long-lived connection asks PRAGMA data_version whenever the -wal was written, and each
// poll_interval besides; it never holds a statement open. What changed since is then one index
// range, whatever the number of streams.

#include "store/engine.hpp"
#include "store/sqlite/change_board.hpp"
#include "store/sqlite/database_file.hpp"
#include "store/sqlite/file_signal.hpp"
#include "store/trouble.hpp"

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

namespace streamld::store::sqlite {

class watcher {
public:
    watcher(
        const database_settings& settings,
        std::chrono::milliseconds poll_interval,
        store_observer& observer,
        file_identity& identity,
        change_board& board
    );
    watcher(const watcher&) = delete;
    watcher& operator=(const watcher&) = delete;
    ~watcher();

    /// Begins to watch; whatever changed since the construction is reported.
    void start();

    /// The writer saw a commit of somebody else's. Any thread.
    void poke() noexcept { signal_.poke(); }

    /// Joins. Blocks for a moment.
    void stop();

private:
    struct prepared;

    void serve();
    void open();
    void look();
    void look_for_a_while();
    void wait_out_own_commit();
    void report_changes();

    const database_settings settings_;
    const std::chrono::milliseconds poll_interval_;
    store_observer& observer_;
    file_identity& identity_;
    change_board& board_;
    file_signal signal_;
    trouble_report trouble_;
    std::atomic<bool> is_closed_{false};
    std::unique_ptr<connection> db_;
    std::unique_ptr<prepared> sql_;
    std::int64_t data_version_ = -1;
    bool has_missed_ = false; // The connection was lost: hints may have been, too.
    std::thread thread_;
};

} // namespace streamld::store::sqlite
