#pragma once
// What the plain connections of the tests throw: the database's own words, and its code where it
// has one.

#include <stdexcept>
#include <string>
#include <utility>

namespace streamld::tests {

class sql_failure : public std::runtime_error {
public:
    explicit sql_failure(const std::string& words, std::string sqlstate = {})
        : std::runtime_error(words), sqlstate_(std::move(sqlstate)) {}

    /// Five characters; empty for SQLite, and where the connection itself failed.
    [[nodiscard]] const std::string& sqlstate() const noexcept { return sqlstate_; }

private:
    std::string sqlstate_;
};

} // namespace streamld::tests
