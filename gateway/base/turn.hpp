#pragma once
// One per shard: what has to happen before this loop goes back to waiting for the kernel. Woken
// coroutines are resumed in order from one posted handler (a wake-all of 10,000 readers is one
// post), then every outbox that gathered bytes is flushed once, so a burst leaves in one system
// call a connection. Single thread.

#include <boost/asio/io_context.hpp>
#include <boost/intrusive/list.hpp>

namespace streamld {

class turn {
    using hook = boost::intrusive::list_base_hook<
        boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;

public:
    /// Something that wants to run once in this turn (a waiting coroutine) or at its end (an
    /// outbox). Destroying a task takes it out of the queue.
    class task : public hook {
    public:
        using action = void (*)(void* self) noexcept;

        task(action act, void* self) noexcept : act_(act), self_(self) {}

        task(const task&) = delete;
        task& operator=(const task&) = delete;

        [[nodiscard]] bool is_queued() const noexcept { return is_linked(); }

    private:
        friend class turn;
        action act_;
        void* self_;
    };

    explicit turn(boost::asio::io_context& loop) noexcept : loop_(loop) {}

    turn(const turn&) = delete;
    turn& operator=(const turn&) = delete;

    /// Runs the task soon, never inside this call. Queued twice is queued once.
    void soon(task& work);

    /// Runs the task after all that is queued by soon(). Queued twice is queued once.
    void at_end(task& work);

    [[nodiscard]] boost::asio::io_context& loop() noexcept { return loop_; }

private:
    using queue = boost::intrusive::list<task, boost::intrusive::constant_time_size<false>>;

    void arm();
    void run();
    static void drain(queue& tasks, queue& source);

    boost::asio::io_context& loop_;
    queue soon_;
    queue at_end_;
    bool is_armed_ = false;
};

} // namespace streamld
