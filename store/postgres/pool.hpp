#pragma once
// A bounded set of connections that are opened when needed. One loop, one thread. Whoever waits
// gets the next free one in turn. A connection that broke, or that the server closed while it lay
// idle, is thrown away, never lent again; after a failed connect the next tries fail at once for a
// short while, so an absent database is not stormed.

#include "store/postgres/connection.hpp"
#include "store/postgres/signal.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <vector>

namespace streamld::store::postgres {

class pool;

/// A connection on loan. Gives it back when it goes; one that is broken or still inside a
/// transaction is closed instead, and so is one that comes back after the pool is gone. Movable.
class lease {
public:
    lease() = default;
    lease(lease&& other) noexcept;
    lease& operator=(lease&& other) noexcept;
    ~lease();

    [[nodiscard]] connection& operator*() const noexcept { return *lent_; }

    [[nodiscard]] connection* operator->() const noexcept { return lent_.get(); }

    [[nodiscard]] explicit operator bool() const noexcept { return lent_ != nullptr; }

    void give_back() noexcept;

private:
    friend class pool;
    lease(pool& owner, std::unique_ptr<connection> lent, std::uint64_t generation) noexcept;

    std::shared_ptr<pool*> owner_; // Points to null once the pool is gone.
    std::unique_ptr<connection> lent_;
    std::uint64_t generation_ = 0;
};

class pool {
public:
    /// `where` outlives the pool.
    pool(boost::asio::any_io_executor loop, const dsn& where, std::size_t connections_max);
    pool(const pool&) = delete;
    pool& operator=(const pool&) = delete;
    ~pool(); // Nobody goes on with acquire() after this.

    /// Throws postgres_fault, error(errc::busy) where none came free in time, error(errc::closed).
    boost::asio::awaitable<lease> acquire(deadline_t deadline);

    /// Closes the idle ones and, on their return, those on loan: the server has changed its role.
    void renew() noexcept;

    /// Refuses from now on; connections close as they come back.
    void close() noexcept;

    /// Idle, on loan or being made. Any thread.
    [[nodiscard]] std::size_t open_connections() const noexcept { return shown_.load(); }

private:
    friend class lease;

    /// Somebody's place in the line for a seat.
    struct turn {
        explicit turn(const boost::asio::any_io_executor& loop) : came(loop) {}

        signal came;
        bool has_seat = false;
    };

    class place;

    boost::asio::awaitable<void> take_seat(deadline_t deadline);
    boost::asio::awaitable<std::unique_ptr<connection>> open(deadline_t deadline);
    [[nodiscard]] std::unique_ptr<connection> take_idle() noexcept;
    void note_failure(const postgres_fault& fault) noexcept;
    void take_back(std::unique_ptr<connection> lent, std::uint64_t generation) noexcept;
    void leave_seat() noexcept;
    void show_count() noexcept;

    boost::asio::any_io_executor loop_;
    const dsn& where_;
    std::size_t connections_max_;
    std::shared_ptr<pool*> self_ = std::make_shared<pool*>(this);

    // A seat is the right to have one connection on loan or being made. While somebody waits, every
    // seat is taken: whoever leaves one gives it to the first in the line.
    std::size_t lent_ = 0;
    std::atomic<std::size_t> shown_{0};
    std::shared_ptr<std::list<turn>> line_ = std::make_shared<std::list<turn>>();

    std::vector<std::unique_ptr<connection>> idle_;
    std::uint64_t generation_ = 0; // Rises with renew().
    bool is_closed_ = false;
    deadline_t refuse_until_{};
    std::chrono::milliseconds pause_{0};
    std::optional<postgres_fault> last_fault_; // Of connecting; empty once that has worked.
};

} // namespace streamld::store::postgres
