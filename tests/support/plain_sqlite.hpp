#pragma once
// Another program's view of the database: a SQLite connection that knows nothing of the store.

#include "support/sql_failure.hpp"

#include <string>

struct sqlite3;

namespace streamld::tests {

class plain_sqlite {
public:
    explicit plain_sqlite(const std::string& path);
    plain_sqlite(const plain_sqlite&) = delete;
    plain_sqlite& operator=(const plain_sqlite&) = delete;
    ~plain_sqlite();

    /// Any number of statements. Throws sql_failure with SQLite's message.
    void run(const std::string& sql);

    /// The first column of the first row, as text.
    [[nodiscard]] std::string value(const std::string& sql);

private:
    sqlite3* raw_ = nullptr;
};

/// Runs a command line; its exit status and output.
struct command_result {
    int status = -1;
    std::string output;
};

command_result run_command(const std::string& line);

} // namespace streamld::tests
