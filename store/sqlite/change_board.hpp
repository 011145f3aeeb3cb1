#pragma once
// What the writer and the watcher of one engine tell each other, so that the watcher need not look
// at commits the writer has reported itself. Any thread.

#include <atomic>
#include <cstdint>

namespace streamld::store::sqlite {

class change_board {
public:
    /// Every change up to here was reported to the observer (see streamld_stream.changed).
    [[nodiscard]] std::int64_t reported() const noexcept { return reported_.load(); }

    void raise_reported(std::int64_t change) noexcept {
        std::int64_t before = reported_.load();
        while (before < change && !reported_.compare_exchange_weak(before, change)) {
        }
    }

    /// The writer reports its own change; somebody else's just before it keeps the watcher's duty
    /// alive.
    void report_own(std::int64_t change) noexcept {
        std::int64_t before = change - 1;
        reported_.compare_exchange_strong(before, change);
    }

    /// While the writer holds the write lock, nobody else commits: a change of the -wal is ours.
    /// What was committed before the lock, the writer notices itself when it begins, and tells the
    /// watcher.
    [[nodiscard]] bool is_writing() const noexcept { return is_writing_.load(); }

    /// Counts the writer's looks at what others committed.
    [[nodiscard]] std::uint64_t turns() const noexcept { return turns_.load(); }

    void begin_writing() noexcept {
        is_writing_.store(true);
        turns_.fetch_add(1);
    }

    void end_writing() noexcept { is_writing_.store(false); }

private:
    std::atomic<std::int64_t> reported_{0};
    std::atomic<std::uint64_t> turns_{0};
    std::atomic<bool> is_writing_{false};
};

} // namespace streamld::store::sqlite
