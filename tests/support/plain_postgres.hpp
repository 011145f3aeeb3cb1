#pragma once
// Another program's view of the database: a blocking Postgres connection that knows nothing of the
// store. One thread at a time; libpq's notices are dropped.

#include "support/sql_failure.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <vector>

struct pg_conn;

namespace streamld::tests {

class plain_postgres {
public:
    /// Throws sql_failure with libpq's message.
    explicit plain_postgres(const std::string& url);
    plain_postgres(const plain_postgres&) = delete;
    plain_postgres& operator=(const plain_postgres&) = delete;
    ~plain_postgres();

    /// Any number of statements. Throws sql_failure with the server's primary message.
    void run(const std::string& sql);

    /// The first column of the first row, as text; empty if there is none, or if it is NULL.
    [[nodiscard]] std::string value(const std::string& sql);

    /// The first column of every row.
    [[nodiscard]] std::vector<std::string> column(const std::string& sql);

    /// The same for one statement with $1, $2, ... as text, which no quoting changes.
    std::string value(const std::string& sql, const std::vector<std::string>& parameters);

    /// Sends one statement and does not wait for it; finish() does. For statements that block.
    void begin(const std::string& sql);

    /// True once the answer is there: finish() returns at once then.
    [[nodiscard]] bool is_done(std::chrono::milliseconds at_most = {});

    /// The first column of the first row of what begin() sent. Throws sql_failure.
    std::string finish();

    struct notification {
        std::string channel;
        std::string payload;
        int backend_pid = 0;
    };

    /// The next notification, or nothing after `at_most`.
    [[nodiscard]] std::optional<notification> next_notification(std::chrono::milliseconds at_most);

    /// The process that serves this connection, as in pg_stat_activity.
    [[nodiscard]] int backend_pid() const noexcept;

private:
    pg_conn* raw_ = nullptr;
};

/// A text as an SQL literal that means the same under every setting.
[[nodiscard]] std::string quoted(const std::string& text);

} // namespace streamld::tests
