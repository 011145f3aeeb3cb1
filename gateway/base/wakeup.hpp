#pragma once
// A condition variable for one coroutine: sticky, single waiter, single thread. notify() never runs the waiter inside
// the call; it resumes in the shard's turn. Owned by the waiting coroutine; must outlive its wait.

#include "base/turn.hpp"

#include <boost/asio/awaitable.hpp>

#include <memory>

namespace streamld {

class wakeup {
public:
    explicit wakeup(turn& owner) noexcept;
    ~wakeup(); // Nobody may be waiting.
    wakeup(const wakeup&) = delete;
    wakeup& operator=(const wakeup&) = delete;

    /// Ends the wait, or the next one if nobody waits. Many notifies before a wait are one.
    void notify() noexcept;

    /// Waits for a notify. Ends only by notify(): whoever may have to end it keeps a way to call that.
    boost::asio::awaitable<void> wait();

private:
    struct waiter; // Type-erased completion handler.
    static void resume(void* self) noexcept;

    turn& turn_;
    turn::task task_;
    std::unique_ptr<waiter> waiter_;
    bool is_notified_ = false;
};

} // namespace streamld
