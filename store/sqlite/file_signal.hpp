#pragma once
// Wakes the watcher when the -wal is written (inotify on Linux, which neither opens nor locks the
// file) or when another thread pokes it. Elsewhere only pokes and the time-out wake.

#include <chrono>
#include <string>

#ifndef __linux__
#include <condition_variable>
#include <mutex>
#endif

namespace streamld::store::sqlite {

class file_signal {
public:
    enum class reason { timeout, written, poked };

    /// Watches `path`-wal, and the names of both files in their directory.
    explicit file_signal(const std::string& path);
    file_signal(const file_signal&) = delete;
    file_signal& operator=(const file_signal&) = delete;
    ~file_signal();

    /// One thread.
    reason wait(std::chrono::microseconds at_most);

    /// Any thread.
    void poke() noexcept;

private:
#ifdef __linux__
    void watch_log() noexcept;
    bool read_events() noexcept;

    std::string database_name_;
    std::string log_path_;
    int notify_ = -1;
    int poke_ = -1;
    int log_watch_ = -1;
    int directory_watch_ = -1;
#else
    std::mutex mutex_;
    std::condition_variable changed_;
    bool is_poked_ = false;
#endif
};

} // namespace streamld::store::sqlite
