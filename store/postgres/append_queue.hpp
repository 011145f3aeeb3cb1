#pragma once
// Publishes that wait for their turn, in the order in which they came, and the rule of what may go
// into one group. One thread.

#include "store/postgres/append_group.hpp"
#include "store/worker.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <deque>
#include <memory>
#include <vector>

namespace streamld::store::postgres {

/// What has been accepted and not answered yet. Any thread.
struct append_counts {
    std::atomic<std::size_t> publishes{0};
    std::atomic<std::size_t> bytes{0};
};

/// One publish's share of the counts; gives it back when it goes.
class append_seat {
public:
    append_seat(append_counts& counts, std::size_t bytes) noexcept
        : counts_(counts), bytes_(bytes) {
        counts_.publishes.fetch_add(1, std::memory_order_relaxed);
        counts_.bytes.fetch_add(bytes_, std::memory_order_relaxed);
    }

    append_seat(const append_seat&) = delete;
    append_seat& operator=(const append_seat&) = delete;

    ~append_seat() {
        counts_.publishes.fetch_sub(1, std::memory_order_relaxed);
        counts_.bytes.fetch_sub(bytes_, std::memory_order_relaxed);
    }

    [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

private:
    append_counts& counts_;
    std::size_t bytes_;
};

/// A publish somebody waits for.
struct pending_append {
    pending_append(checked_append what, deadline_t until, append_counts& counts)
        : publish(std::move(what)), deadline(until), since(std::chrono::steady_clock::now()),
          seat(counts, bytes_of(publish.request)) {}

    checked_append publish;
    completion<append_outcome> done;
    deadline_t deadline;
    deadline_t since; // When it came.
    append_seat seat;
};

using pending_ptr = std::unique_ptr<pending_append>;
using append_list = std::vector<pending_ptr>;

class append_queue {
public:
    void push(pending_ptr next) { waiting_.push_back(std::move(next)); }

    /// Back to where they were taken from, in their order.
    void push_front(append_list earlier);

    /// What one call of gateway_append may take: within the limits (one always fits), a publish
    /// with an expected head only as its stream's first, an idempotency key once. What must wait
    /// keeps its stream's later publishes waiting too, so a stream's order holds.
    [[nodiscard]] append_list take_group(std::size_t events_max, std::size_t bytes_max);

    /// Those whose deadline has come.
    [[nodiscard]] append_list take_late(deadline_t now);

    /// Those that came at `before` or earlier.
    [[nodiscard]] append_list take_older(deadline_t before);

    /// Nobody waits for longer than that.
    void hurry(deadline_t latest) noexcept;

    [[nodiscard]] bool empty() const noexcept { return waiting_.empty(); }

    [[nodiscard]] std::size_t size() const noexcept { return waiting_.size(); }

    [[nodiscard]] deadline_t earliest_deadline() const noexcept;

private:
    template <class Condition>
    append_list take_if(Condition condition);

    std::deque<pending_ptr> waiting_;
};

/// Tells all of them.
void refuse(append_list& all, const std::exception_ptr& fault);

} // namespace streamld::store::postgres
