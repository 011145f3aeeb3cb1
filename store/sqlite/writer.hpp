#pragma once
// The one thread that writes. What waits is taken together and made durable by one commit (group
// commit); each waiter is answered after it. A request that fails its own check fails alone; if the
// storage fails, all of the group do, and the connection is opened anew by itself. Between groups
// it runs the callers' transactions and deletes trimmed rows.

#include "store/open_store.hpp"
#include "store/sqlite/change_board.hpp"
#include "store/sqlite/ledger.hpp"
#include "store/sqlite/session.hpp"
#include "store/trouble.hpp"
#include "store/worker.hpp"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace streamld::store::sqlite {

/// A write somebody waits for, without its types. Applied and settled on the writer's thread.
class pending_write {
public:
    pending_write(deadline_t deadline, std::size_t events, std::size_t bytes) noexcept
        : deadline_(deadline), events_(events), bytes_(bytes) {}

    virtual ~pending_write() = default;

    /// Throws storage_fault only; any other fault is this write's own, kept for settle().
    virtual void apply(ledger& books) = 0;

    /// Its turn came too late: settle() will say so.
    virtual void expire() noexcept = 0;

    /// Answers the waiter. `fault`: the whole group failed with it.
    virtual void settle(const std::exception_ptr& fault) noexcept = 0;

    [[nodiscard]] deadline_t deadline() const noexcept { return deadline_; }

    [[nodiscard]] std::size_t events() const noexcept { return events_; }

    [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

private:
    deadline_t deadline_;
    std::size_t events_;
    std::size_t bytes_;
};

template <class Work>
class pending_write_of final : public pending_write {
public:
    using result = std::invoke_result_t<Work&, ledger&>;

    pending_write_of(
        Work work,
        completion<result> done,
        deadline_t deadline,
        std::size_t events,
        std::size_t bytes
    )
        : pending_write(deadline, events, bytes), work_(std::move(work)), done_(std::move(done)) {}

    void apply(ledger& books) override {
        try {
            value_ = work_(books);
        } catch (const storage_fault&) {
            throw;
        } catch (...) {
            fault_ = std::current_exception();
        }
    }

    void expire() noexcept override {
        fault_ = std::make_exception_ptr(
            error(errc::busy, "the deadline passed before the write's turn came")
        );
    }

    void settle(const std::exception_ptr& fault) noexcept override {
        if (fault || fault_) {
            done_.fail(fault ? fault : fault_);
        } else {
            done_.succeed(std::move(value_));
        }
    }

private:
    Work work_;
    completion<result> done_;
    result value_{};
    std::exception_ptr fault_;
};

class writer {
public:
    /// What the writer tells the engine's other threads. Called on the writer's thread.
    struct signals {
        std::function<void()> foreign_commit;   // Somebody else committed since the last turn.
        std::function<void(int)> wal_has_pages; // After a commit of ours.
    };

    writer(
        const database_settings& settings,
        const open_options& options,
        store_observer& observer,
        file_identity& identity,
        change_board& board,
        signals tell
    );
    writer(const writer&) = delete;
    writer& operator=(const writer&) = delete;
    ~writer();

    /// Runs work(ledger) inside a group's transaction. `events` and `bytes` count against the
    /// limits.
    template <class Work>
    boost::asio::awaitable<std::invoke_result_t<Work&, ledger&>>
    run(Work work, deadline_t deadline, std::size_t events, std::size_t bytes) {
        using result = std::invoke_result_t<Work&, ledger&>;
        auto start = [this, work = std::move(work), deadline, events, bytes](completion<result> done
                     ) mutable {
            push(std::make_unique<pending_write_of<Work>>(
                std::move(work), std::move(done), deadline, events, bytes
            ));
        };
        return await_completion<result>(std::move(start));
    }

    /// Waits until the transaction of `own` has begun. From then on its deadline ends it.
    boost::asio::awaitable<nothing> enter(std::shared_ptr<session> own);

    /// When the last write of any kind succeeded, or what it failed with.
    struct health {
        deadline_t at;
        std::exception_ptr fault;
    };

    [[nodiscard]] health last_write() const;

    [[nodiscard]] std::size_t waiting() const noexcept {
        return waiting_count_.load(std::memory_order_relaxed);
    }

    /// Takes nothing new, finishes what waits, joins. Blocks.
    void stop();

private:
    using group = std::vector<std::unique_ptr<pending_write>>;

    void push(std::unique_ptr<pending_write> next);
    void serve();
    bool wait_for_work();
    ledger& books();
    void begin();
    void finish_commit();
    void commit_group();
    void give_way(deadline_t began);
    void apply_group(const group& members);
    group take_group();
    void expire_waiting();
    void serve_session(const std::shared_ptr<session>& own);
    std::exception_ptr run_session(session& own);
    void delete_trimmed();
    void recover(const error& fault) noexcept;
    void note(std::exception_ptr fault) noexcept;

    const database_settings settings_;
    const open_options options_;
    store_observer& observer_;
    file_identity& identity_;
    change_board& board_;
    const signals tell_;

    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::unique_ptr<pending_write>> waiting_;
    std::deque<std::shared_ptr<session>> sessions_;
    std::size_t waiting_bytes_ = 0;
    bool is_closed_ = false;
    health last_write_;
    std::atomic<std::size_t> waiting_count_{0};

    // The writer's thread only.
    std::unique_ptr<ledger> books_;
    std::deque<purge> purges_;
    trouble_report trouble_;
    deadline_t expired_at_{};
    deadline_t foreign_at_{}; // When another program's commit was last met.

    std::thread thread_;
};

} // namespace streamld::store::sqlite
