#pragma once
// Makes one group of publishes durable over a connection: one pipeline, one round trip, one commit.
// Afterwards the observer is told, then everybody is answered, in that order. The engine's loop.

#include "store/postgres/append_queue.hpp"
#include "store/postgres/connection.hpp"
#include "store/trouble.hpp"

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <functional>
#include <optional>
#include <span>

namespace streamld::store::postgres {

using commit_report = std::span<const store_observer::committed_append>;

/// Whether writes work, for the readiness probe. Never latched: the latest word counts.
class write_health {
public:
    explicit write_health(store_observer& observer) : trouble_(observer) {}

    void good() noexcept;
    void bad(const postgres_fault& fault) noexcept;

    /// Of the last write of any kind; none within `memory`: nothing.
    struct word {
        bool is_known = false;
        std::exception_ptr fault;
    };

    [[nodiscard]] word latest(std::chrono::milliseconds memory) const;

private:
    trouble_report trouble_;
    deadline_t at_{};
    std::exception_ptr fault_;
};

class group_commit {
public:
    struct actions {
        std::function<void(commit_report)> committed;
        std::function<void()> outcome_unknown; // A commit may have happened: look.
        std::function<void()> server_changed;  // It takes no writes any more, or is going.
    };

    group_commit(write_health& health, actions what) : health_(health), actions_(std::move(what)) {}

    /// Answers all but those whose stream is held by another transaction, which come back. `wait`:
    /// how long to wait for a lock; zero: not at all.
    boost::asio::awaitable<append_list>
    run(connection& db, append_list members, std::chrono::milliseconds wait);

private:
    boost::asio::awaitable<append_list>
    run_singly(connection& db, append_list members, std::chrono::milliseconds wait);
    append_list settle(append_list members, const std::vector<append_answer>& answers);
    void fail(append_list& members, const postgres_fault& fault);

    write_health& health_;
    actions actions_;
};

/// Everybody whose deadline has passed is refused and taken out.
void refuse_late(append_list& members, deadline_t now);

} // namespace streamld::store::postgres
