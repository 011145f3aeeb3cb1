#pragma once
// Runs coroutines to their end on the calling thread, within a time limit. For tests; one thread.

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <chrono>
#include <exception>
#include <optional>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace streamld::tests {

class run_loop {
public:
    /// Its result, or its exception.
    template <class T>
    T await(boost::asio::awaitable<T> what) {
        std::exception_ptr fault;
        bool is_done = false;
        if constexpr (std::is_void_v<T>) {
            boost::asio::co_spawn(io_, std::move(what), [&](std::exception_ptr thrown) {
                fault = std::move(thrown);
                is_done = true;
            });
            until(is_done);
            if (fault) std::rethrow_exception(fault);
        } else {
            std::optional<T> result;
            boost::asio::co_spawn(io_, std::move(what), [&](std::exception_ptr thrown, T value) {
                fault = std::move(thrown);
                result.emplace(std::move(value));
                is_done = true;
            });
            until(is_done);
            if (fault) std::rethrow_exception(fault);
            return std::move(*result);
        }
    }

    /// Starts `what` beside; join() runs until all of them have ended and throws the first
    /// exception.
    void start(boost::asio::awaitable<void> what) {
        ++running_;
        boost::asio::co_spawn(io_, std::move(what), [this](std::exception_ptr thrown) {
            if (thrown && !first_fault_) first_fault_ = std::move(thrown);
            --running_;
        });
    }

    void join() {
        const auto limit = std::chrono::steady_clock::now() + time_limit_;
        while (running_ > 0)
            step(limit);
        if (first_fault_) std::rethrow_exception(std::exchange(first_fault_, nullptr));
    }

    /// Runs until the condition holds.
    template <class Condition>
    void until(const Condition& condition) {
        const auto limit = std::chrono::steady_clock::now() + time_limit_;
        while (!holds(condition))
            step(limit);
    }

    [[nodiscard]] boost::asio::io_context& context() noexcept { return io_; }

private:
    static bool holds(const bool& flag) { return flag; }

    template <class Condition>
    static bool holds(const Condition& condition) {
        return condition();
    }

    void step(std::chrono::steady_clock::time_point limit) {
        io_.restart();
        const auto slice = std::chrono::steady_clock::now() + std::chrono::milliseconds(20);
        io_.run_one_until(slice);
        if (std::chrono::steady_clock::now() > limit)
            throw std::runtime_error("run_loop: the time limit passed");
    }

    boost::asio::io_context io_{1};
    std::chrono::seconds time_limit_{60};
    int running_ = 0;
    std::exception_ptr first_fault_;
};

} // namespace streamld::tests
