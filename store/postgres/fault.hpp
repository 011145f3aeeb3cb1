#pragma once
// What Postgres or the way to it says when something fails. An error of the store whose detail()
// is fit for clients; `words` and `sqlstate` are for the log.

#include "store/errors.hpp"

#include <string>

struct pg_result;
struct pg_conn;

namespace streamld::store::postgres {

class postgres_fault : public error {
public:
    postgres_fault(errc code, const std::string& detail, std::string sqlstate, std::string words);

    /// Five characters, empty where the server said nothing (the connection broke).
    [[nodiscard]] const std::string& sqlstate() const noexcept { return sqlstate_; }

    /// The server's or libpq's first line, without a newline. Never contains the password.
    [[nodiscard]] const std::string& words() const noexcept { return words_; }

    /// The connection must not be used again: it broke, the server is going (57P01, 57P02, 57P03)
    /// or it is not (any longer) the one that takes writes (25006).
    [[nodiscard]] bool ends_connection() const noexcept;

private:
    std::string sqlstate_;
    std::string words_;
};

/// The closed mapping from SQLSTATE to errc. Unknown ones are `unavailable`.
[[nodiscard]] errc code_of(const std::string& sqlstate) noexcept;

[[nodiscard]] postgres_fault fault_of(const pg_result& failed);

/// The connection itself broke or could not be made.
[[nodiscard]] postgres_fault fault_of(const pg_conn& broken);

} // namespace streamld::store::postgres
