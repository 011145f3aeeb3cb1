#pragma once
// A transaction of the caller's, between two threads: the caller's coroutine hands in one step
// after the other, the writer's thread runs them on its connection. Whoever ends first wins; a step
// after the end is refused.

#include "store/sqlite/ledger.hpp"
#include "store/worker.hpp"

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

namespace streamld::store::sqlite {

class session {
public:
    enum class ending { none, commit, roll_back };

    explicit session(deadline_t deadline) : deadline_(deadline) {}

    // ---- The caller's side.

    /// Set before the session is given to the writer: answered when the transaction has begun.
    completion<nothing> entered;

    template <class Work>
    boost::asio::awaitable<std::invoke_result_t<Work&, ledger&>> run(Work work) {
        using result = std::invoke_result_t<Work&, ledger&>;
        auto guarded = [this, work = std::move(work)](ledger& books) mutable -> result {
            try {
                return work(books);
            } catch (const storage_fault&) {
                fault_ = std::current_exception(
                ); // The transaction is over, whatever the caller does next.
                throw;
            }
        };
        using guarded_work = decltype(guarded);
        auto start = [this, guarded = std::move(guarded)](completion<result> done) mutable {
            push(std::make_unique<job_of<ledger, guarded_work>>(
                std::move(guarded), std::move(done), deadline_
            ));
        };
        return await_completion<result>(std::move(start));
    }

    /// Asks for the end; answered when it is done.
    boost::asio::awaitable<nothing> finish(ending how);

    /// The caller is gone without an end.
    void abandon() noexcept;

    /// Keeps what the writer's report views until the commit. Writer's thread.
    checked_append& keep(checked_append publish);

    // ---- The writer's side.

    [[nodiscard]] deadline_t deadline() const noexcept { return deadline_; }

    /// The next step, or null at `until` or when an end was asked for.
    std::unique_ptr<job<ledger>> next(deadline_t until);

    [[nodiscard]] ending asked_ending();

    [[nodiscard]] std::exception_ptr fault() const noexcept { return fault_; }

    /// No further step is taken; waiting ones and the end asked for get `fault` (null: the commit's
    /// success).
    void close(std::exception_ptr fault) noexcept;

private:
    void push(std::unique_ptr<job<ledger>> step);

    const deadline_t deadline_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::unique_ptr<job<ledger>>> steps_;
    ending ending_ = ending::none;
    completion<nothing> ended_;
    bool is_closed_ = false;
    std::exception_ptr closed_with_;
    std::exception_ptr fault_; // Writer's thread only.
    std::vector<std::unique_ptr<checked_append>> kept_;
};

} // namespace streamld::store::sqlite
