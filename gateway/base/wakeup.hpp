#pragma once
// A condition variable for one coroutine: sticky, single waiter, single thread. notify() never runs
// the waiter inside the call; it resumes in the shard's turn. Owned by the waiting coroutine; must
// outlive its wait.

#include "base/turn.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/system/error_code.hpp>

#include <memory>

namespace streamld {

class wakeup {
public:
    /// What waits: a completion handler, its type erased by hand (Boost 1.81 has no
    /// any_completion_handler).
    class waiter {
    public:
        virtual ~waiter() = default;
        virtual void complete(boost::system::error_code ec) = 0;
    };

    explicit wakeup(turn& owner) noexcept;
    ~wakeup(); // Nobody may be waiting.
    wakeup(const wakeup&) = delete;
    wakeup& operator=(const wakeup&) = delete;

    /// Ends the wait, or the next one if nobody waits. Many notifies before a wait are one.
    void notify() noexcept;

    /// Waits for a notify. A terminal cancellation of the coroutine (nursery::cancel) ends it too,
    /// by throwing system_error(operation_aborted).
    boost::asio::awaitable<void> wait();

    /// The same for who is not a coroutine; `waiting` completes in the turn, also where a notify
    /// came before.
    void wait_with(std::unique_ptr<waiter> waiting);
    /// Destroys what waits without completing it.
    void abandon() noexcept;

private:
    static void resume(void* self) noexcept;
    void cancel() noexcept;

    turn& turn_;
    turn::task task_;
    std::unique_ptr<waiter> waiter_;
    bool is_notified_ = false;
};

} // namespace streamld
