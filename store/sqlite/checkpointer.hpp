#pragma once
// Keeps the -wal small, away from the writer's path: a thread that copies its pages into the
// database each few MiB (PASSIVE, which disturbs nobody), and makes it start over when it has grown
// past its share even so, as overlapping readers can cause (RESTART waits for them while new
// readers no longer need the log; so it ends).

#include "store/sqlite/database_file.hpp"
#include "store/trouble.hpp"

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

namespace streamld::store::sqlite {

class checkpointer {
public:
    checkpointer(
        const database_settings& settings,
        std::size_t wal_bytes_max,
        store_observer& observer,
        file_identity& identity
    );
    checkpointer(const checkpointer&) = delete;
    checkpointer& operator=(const checkpointer&) = delete;
    ~checkpointer();

    /// The log has this many pages after a commit of ours. Any thread.
    void log_has_pages(int pages) noexcept;

    /// A last checkpoint, then joins. Blocks.
    void stop();

private:
    struct progress {
        std::uint64_t log_bytes = 0;
        bool is_done = false; // Everything in the log is in the database.
    };

    void serve();
    bool wait(std::chrono::milliseconds at_most);
    void look_after_log(bool is_idle);
    progress checkpoint(int mode);

    const database_settings settings_;
    const std::string log_path_;
    const std::uint64_t wal_bytes_max_;
    file_identity& identity_;
    trouble_report trouble_;
    std::unique_ptr<connection> db_;
    std::uint64_t page_bytes_ = 4096;
    std::uint64_t settled_size_ = 0;        // The log's size when there was nothing left to do.
    std::chrono::milliseconds hold_off_{0}; // After a reader kept us from starting the log over.

    std::mutex mutex_;
    std::condition_variable changed_;
    int pages_ = 0;
    int pages_done_ = 0;
    bool is_closed_ = false;
    std::chrono::steady_clock::time_point not_before_{};
    std::thread thread_;
};

} // namespace streamld::store::sqlite
