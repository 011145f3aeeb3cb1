#pragma once
// One connection to Postgres, driven by libpq without blocking. It belongs to one loop on one
// thread and is used by one coroutine at a time. Always in libpq's pipeline mode: whatever is asked
// goes out together and costs one round trip. Statements are unnamed and nothing is set for the
// session that correctness rests on, so a pooler that works per transaction may stand between.

#include "store/engine.hpp"
#include "store/postgres/dsn.hpp"
#include "store/postgres/fault.hpp"
#include "store/postgres/query.hpp"
#include "store/postgres/result.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace streamld::store::postgres {

struct notification {
    std::string channel;
    std::string payload;
    int sender_pid = 0;
};

class pipeline;

class connection {
public:
    /// Resolves the host names anew (failover may have moved them) and connects; host names are
    /// resolved by Asio, so the loop is never blocked by DNS. Throws postgres_fault
    /// (errc::unavailable, also for a refused login: somebody may be mending it; errc::foreign only
    /// for a database whose encoding is not UTF8). `where` outlives the call.
    [[nodiscard]] static boost::asio::awaitable<std::unique_ptr<connection>>
    open(boost::asio::any_io_executor loop, const dsn& where, deadline_t deadline);

    connection(const connection&) = delete;
    connection& operator=(const connection&) = delete;
    ~connection(
    ); // Closes at once; the server rolls back and, from version 14, stops the statement.

    /// Sends the queries as one pipeline and waits for every answer. If one fails, those behind it
    /// are not run; a transaction left open in its failed state is ended with `recovery`; then the
    /// first fault is thrown. If the deadline passes or the connection breaks, the connection is
    /// broken and whether the queries took effect is not known (errc::unavailable). A deadline that
    /// has passed already sends nothing and breaks nothing (errc::busy, SQLSTATE 57014).
    boost::asio::awaitable<std::vector<result>>
    exchange(std::vector<query> queries, deadline_t deadline, const char* recovery = "ROLLBACK");

    /// The next notification, or nothing at `until`. Notifications that arrive during an exchange
    /// are kept for the next call. Throws postgres_fault when the connection ends, after the last
    /// of them.
    boost::asio::awaitable<std::optional<notification>> next_notification(deadline_t until);

    [[nodiscard]] bool is_broken() const noexcept;

    /// Looks, without waiting, whether the server has closed an idle connection.
    [[nodiscard]] bool is_alive() noexcept;

    [[nodiscard]] bool is_in_transaction() const noexcept;
    [[nodiscard]] int backend_pid() const noexcept;

    /// As the server says, e.g. 150018.
    [[nodiscard]] int server_version() const noexcept;

    /// Wakes a coroutine that waits in next_notification() or exchange(): it meets a fault, and the
    /// connection is broken. From the same thread.
    void abort() noexcept;

private:
    explicit connection(std::unique_ptr<pipeline> inner);

    std::unique_ptr<pipeline> pipeline_;
};

/// A statement without parameters or a caller that needs only one answer.
boost::asio::awaitable<result> ask(connection& db, query what, deadline_t deadline);

} // namespace streamld::store::postgres
