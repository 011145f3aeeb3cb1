#pragma once
// The engine's own thread and loop. Everything that touches libpq runs here, so nothing of the
// Postgres engine needs a lock but the doors: run() and post(), which any thread may use.

#include "store/postgres/signal.hpp"
#include "store/worker.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include <functional>
#include <mutex>
#include <thread>
#include <utility>

namespace streamld::store::postgres {

class engine_loop {
public:
    engine_loop();
    engine_loop(const engine_loop&) = delete;
    engine_loop& operator=(const engine_loop&) = delete;
    ~engine_loop(); // Closes, where nobody has.

    [[nodiscard]] boost::asio::any_io_executor executor() noexcept { return io_.get_executor(); }

    /// Runs the coroutine that work() returns on the loop, and the answer goes to the caller's
    /// executor. Any thread. Throws errc::closed after close(). The coroutine must own what it
    /// needs: `work` is gone once it has returned.
    template <class T, class Work>
    boost::asio::awaitable<T> run(Work work) {
        auto start = [this, work = std::move(work)](completion<T> done) mutable {
            std::unique_lock lock(mutex_);
            if (is_closed_) {
                lock.unlock();
                done.fail(std::make_exception_ptr(error(errc::closed)));
                return;
            }
            boost::asio::post(
                io_,
                [this, work = std::move(work), done = std::move(done)]() mutable {
                    start_operation<T>(work(), std::move(done));
                }
            );
        };
        return await_completion<T>(std::move(start));
    }

    /// Any thread; false after close(): then it will not be run.
    template <class Job>
    bool post(Job job) {
        const std::lock_guard lock(mutex_);
        if (is_closed_) return false;
        boost::asio::post(io_, std::move(job));
        return true;
    }

    /// A coroutine of the engine's own, which ends by itself when the engine is told to close and
    /// lets no exception out. From the loop, or before anything else runs there.
    void spawn(boost::asio::awaitable<void> background);

    /// Refuses new operations, waits for those under way, runs `last` on the loop, and joins the
    /// thread once every coroutine has ended. Blocks; once.
    void close(std::function<void()> last);

private:
    template <class T>
    void start_operation(boost::asio::awaitable<T> operation, completion<T> done) {
        ++operations_;
        boost::asio::co_spawn(
            io_,
            std::move(operation),
            [this, done = std::move(done)](std::exception_ptr fault, T value) mutable {
                if (fault) {
                    done.fail(std::move(fault));
                } else {
                    done.succeed(std::move(value));
                }
                if (--operations_ == 0) idle_.notify();
            }
        );
    }

    boost::asio::awaitable<void> finish(std::function<void()> last);

    boost::asio::io_context io_{1};
    boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
    signal idle_;
    std::size_t operations_ = 0;
    std::mutex mutex_;
    bool is_closed_ = false;
    std::thread thread_;
};

} // namespace streamld::store::postgres
