#include "support/plain_sqlite.hpp"

#include <sqlite3.h>

#include <array>
#include <cstdio>

namespace streamld::tests {

plain_sqlite::plain_sqlite(const std::string& path) {
    if (sqlite3_open(path.c_str(), &raw_) != SQLITE_OK)
        throw sql_failure("cannot open the database");
    sqlite3_busy_timeout(raw_, 20'000);
}

plain_sqlite::~plain_sqlite() {
    sqlite3_close_v2(raw_);
}

void plain_sqlite::run(const std::string& sql) {
    if (sqlite3_exec(raw_, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK)
        throw sql_failure(sqlite3_errmsg(raw_));
}

std::string plain_sqlite::value(const std::string& sql) {
    std::string found;
    const auto take = [](void* into, int columns, char** values, char** /*names*/) {
        if (columns > 0 && values[0] != nullptr) *static_cast<std::string*>(into) = values[0];
        return 0;
    };
    if (sqlite3_exec(raw_, sql.c_str(), take, &found, nullptr) != SQLITE_OK)
        throw sql_failure(sqlite3_errmsg(raw_));
    return found;
}

command_result run_command(const std::string& line) {
    command_result result;
    std::FILE* pipe = ::popen((line + " 2>&1").c_str(), "r");
    if (pipe == nullptr) return result;
    std::array<char, 4096> buffer{};
    while (const std::size_t size = std::fread(buffer.data(), 1, buffer.size(), pipe))
        result.output.append(buffer.data(), size);
    result.status = ::pclose(pipe);
    return result;
}

} // namespace streamld::tests
