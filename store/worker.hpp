#pragma once
// Blocking work in its lane: a job runs on a worker's thread, and the coroutine that awaits it goes
// on with its own executor. `completion` is how any thread answers such a coroutine; `worker` is a
// small pool whose threads each own a Context (a database connection). The queue is bounded, and a
// job whose deadline has passed is never begun.

#include "store/engine.hpp"
#include "store/errors.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace streamld::store {

/// The result of a job that has none.
struct nothing {};

/// Somebody waits for a T. Exactly one of succeed() and fail() is called, once, from any thread;
/// the waiter goes on with its own executor, which counts the wait as outstanding work. (Boost 1.81
/// has no any_completion_handler.)
template <class T>
class completion {
public:
    completion() = default;

    template <class Handler>
    explicit completion(Handler handler)
        : waiter_(std::make_unique<model<Handler>>(std::move(handler))) {}

    void succeed(T value) { answer(nullptr, std::move(value)); }

    void fail(std::exception_ptr fault) { answer(std::move(fault), T{}); }

    explicit operator bool() const noexcept { return waiter_ != nullptr; }

private:
    struct concept_base {
        virtual ~concept_base() = default;
        virtual void answer(std::exception_ptr fault, T value) = 0;
    };

    template <class Handler>
    struct model final : concept_base {
        using executor = boost::asio::associated_executor_t<Handler>;

        explicit model(Handler h)
            : handler(std::move(h)), work(boost::asio::get_associated_executor(handler)) {}

        void answer(std::exception_ptr fault, T value) override {
            const auto where = work.get_executor();
            boost::asio::post(
                where,
                [h = std::move(handler),
                 w = std::move(work),
                 f = std::move(fault),
                 v = std::move(value)]() mutable { std::move(h)(std::move(f), std::move(v)); }
            );
        }

        Handler handler;
        boost::asio::executor_work_guard<executor> work;
    };

    void answer(std::exception_ptr fault, T value) {
        const auto waiter = std::move(waiter_);
        waiter->answer(std::move(fault), std::move(value));
    }

    std::unique_ptr<concept_base> waiter_;
};

/// Awaits what `start(completion<T>)` has set going.
template <class T, class Start>
boost::asio::awaitable<T> await_completion(Start start) {
    // Not a coroutine itself: a closure made inside a co_await expression is destroyed twice by
    // GCC 12.
    auto initiate = [start = std::move(start)](auto handler) mutable {
        start(completion<T>(std::move(handler)));
    };
    return boost::asio::async_initiate<
        const boost::asio::use_awaitable_t<>,
        void(std::exception_ptr, T)>(std::move(initiate), boost::asio::use_awaitable);
}

/// A job somebody waits for, without its types.
template <class Context>
class job {
public:
    explicit job(deadline_t deadline) : deadline_(deadline) {}

    virtual ~job() = default;

    /// Runs and answers. Does not throw.
    virtual void run(Context& context) noexcept = 0;
    virtual void refuse(std::exception_ptr fault) noexcept = 0;

    [[nodiscard]] bool is_late(deadline_t now) const noexcept { return now >= deadline_; }

private:
    deadline_t deadline_;
};

template <class Context, class Work>
class job_of final : public job<Context> {
public:
    using result = std::invoke_result_t<Work&, Context&>;

    job_of(Work work, completion<result> done, deadline_t deadline)
        : job<Context>(deadline), work_(std::move(work)), done_(std::move(done)) {}

    void run(Context& context) noexcept override {
        result value{};
        try {
            value = work_(context);
        } catch (...) {
            done_.fail(std::current_exception());
            return;
        }
        done_.succeed(std::move(value));
    }

    void refuse(std::exception_ptr fault) noexcept override { done_.fail(std::move(fault)); }

private:
    Work work_;
    completion<result> done_;
};

template <class Context>
class worker {
public:
    /// One thread for each context.
    worker(std::vector<std::unique_ptr<Context>> contexts, std::size_t waiting_max)
        : contexts_(std::move(contexts)), waiting_max_(waiting_max) {
        for (auto& context : contexts_)
            threads_.emplace_back([this, &own = *context] { serve(own); });
    }

    worker(const worker&) = delete;
    worker& operator=(const worker&) = delete;

    ~worker() { stop(); }

    /// Runs work(context) on one of the threads. Throws errc::busy if the queue is full or the
    /// deadline passes before a thread is free, errc::closed after stop().
    template <class Work>
    boost::asio::awaitable<std::invoke_result_t<Work&, Context&>>
    run(Work work, deadline_t deadline) {
        using result = std::invoke_result_t<Work&, Context&>;
        auto start = [this, work = std::move(work), deadline](completion<result> done) mutable {
            push(std::make_unique<job_of<Context, Work>>(std::move(work), std::move(done), deadline)
            );
        };
        return await_completion<result>(std::move(start));
    }

    /// Finishes what is queued and joins the threads. Blocks.
    void stop() {
        {
            const std::lock_guard lock(mutex_);
            is_closed_ = true;
        }
        changed_.notify_all();
        for (auto& thread : threads_)
            if (thread.joinable()) thread.join();
    }

private:
    void push(std::unique_ptr<job<Context>> next) {
        errc refusal = errc::closed;
        {
            const std::lock_guard lock(mutex_);
            if (!is_closed_ && waiting_.size() < waiting_max_) {
                waiting_.push_back(std::move(next));
            } else if (!is_closed_) {
                refusal = errc::busy;
            }
        }
        if (next) {
            next->refuse(std::make_exception_ptr(error(refusal)));
        } else {
            changed_.notify_one();
        }
    }

    std::unique_ptr<job<Context>> take() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return is_closed_ || !waiting_.empty(); });
        if (waiting_.empty()) return nullptr;
        auto next = std::move(waiting_.front());
        waiting_.pop_front();
        return next;
    }

    void serve(Context& context) {
        while (const auto next = take()) {
            if (next->is_late(std::chrono::steady_clock::now())) {
                next->refuse(std::make_exception_ptr(
                    error(errc::busy, "the deadline passed before the read began")
                ));
            } else {
                next->run(context);
            }
        }
    }

    std::vector<std::unique_ptr<Context>> contexts_;
    std::size_t waiting_max_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::unique_ptr<job<Context>>> waiting_;
    bool is_closed_ = false;
    std::vector<std::thread> threads_;
};

} // namespace streamld::store
