#pragma once
// A connection of the engine's to a fresh database, with its loop, for the unit tests. One thread.

#include "store/postgres/connection.hpp"
#include "support/plain_postgres.hpp"
#include "support/postgres_server.hpp"
#include "support/run_loop.hpp"

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace streamld::tests {

[[nodiscard]] inline store::deadline_t within(std::chrono::milliseconds patience) {
    return std::chrono::steady_clock::now() + patience;
}

/// Long enough for a busy machine under sanitizers.
[[nodiscard]] inline store::deadline_t soon() {
    return within(std::chrono::seconds(30));
}

[[nodiscard]] inline std::vector<store::postgres::query>
statements(const std::vector<std::string>& texts) {
    std::vector<store::postgres::query> all;
    for (const std::string& text : texts)
        all.emplace_back(text);
    return all;
}

class postgres_session {
public:
    postgres_session()
        : where_(store::postgres::dsn::parse(database_.url())),
          db_(loop.await(
              store::postgres::connection::open(loop.context().get_executor(), where_, soon())
          )) {}

    [[nodiscard]] store::postgres::connection& db() const noexcept { return *db_; }

    [[nodiscard]] const store::postgres::dsn& where() const noexcept { return where_; }

    [[nodiscard]] std::string url() const { return database_.url(); }

    /// The connection itself; the session has none then.
    [[nodiscard]] std::unique_ptr<store::postgres::connection> take() { return std::move(db_); }

    store::postgres::result ask(store::postgres::query what) {
        return loop.await(store::postgres::ask(*db_, std::move(what), soon()));
    }

    std::vector<store::postgres::result> exchange(std::vector<store::postgres::query> queries) {
        return loop.await(db_->exchange(std::move(queries), soon()));
    }

    /// What the exchange throws; nothing if it succeeds.
    std::optional<store::postgres::postgres_fault> fault_of(
        std::vector<store::postgres::query> queries,
        const char* recovery = "ROLLBACK",
        store::deadline_t deadline = soon()
    ) {
        try {
            loop.await(db_->exchange(std::move(queries), deadline, recovery));
        } catch (const store::postgres::postgres_fault& fault) {
            return fault;
        }
        return {};
    }

private:
    test_database database_;

public:
    run_loop loop; // Before the connection, which lives on it.

private:
    store::postgres::dsn where_;
    std::unique_ptr<store::postgres::connection> db_;
};

/// Until no process of the server has this number any more.
inline void expect_backend_gone(run_loop& loop, plain_postgres& observer, int pid) {
    const std::string count =
        "SELECT count(*) FROM pg_stat_activity WHERE pid = " + std::to_string(pid);
    loop.until([&] { return observer.value(count) == "0"; });
}

} // namespace streamld::tests
