#include "store/sqlite/callers_statement.hpp"

#include <sqlite3.h>

#include <memory>
#include <string_view>

namespace streamld::store::sqlite {

namespace {

// The transaction's ends are ours; another file attached would not be covered by it.
int authorize(void*, int action, const char*, const char*, const char*, const char*) {
    const bool is_refused = action == SQLITE_TRANSACTION || action == SQLITE_ATTACH ||
                            action == SQLITE_DETACH || action == SQLITE_PRAGMA;
    return is_refused ? SQLITE_DENY : SQLITE_OK;
}

[[noreturn]] void fail_statement(sqlite3* db, int result) {
    const int kind = result & 0xFF;
    const bool is_callers = kind == SQLITE_ERROR || kind == SQLITE_CONSTRAINT ||
                            kind == SQLITE_MISMATCH || kind == SQLITE_RANGE ||
                            kind == SQLITE_AUTH || kind == SQLITE_TOOBIG || kind == SQLITE_LOCKED;
    if (is_callers) throw error(errc::statement, sqlite3_errmsg(db));
    throw storage_fault(meaning_of(result), "the caller's statement met a fault of the storage");
}

struct finalizer {
    void operator()(sqlite3_stmt* raw) const noexcept { sqlite3_finalize(raw); }
};

using owned_statement = std::unique_ptr<sqlite3_stmt, finalizer>;

owned_statement prepare_callers(sqlite3* db, const std::string& sql) {
    sqlite3_stmt* raw = nullptr;
    const char* tail = nullptr;
    sqlite3_set_authorizer(db, &authorize, nullptr);
    const int result =
        sqlite3_prepare_v2(db, sql.c_str(), static_cast<int>(sql.size()), &raw, &tail);
    sqlite3_set_authorizer(db, nullptr, nullptr);
    owned_statement owned(raw);
    if (result != SQLITE_OK) fail_statement(db, result);
    if (raw == nullptr) throw error(errc::statement, "there is no statement in the text");
    if (std::string_view(tail).find_first_not_of(" \t\r\n;") != std::string_view::npos)
        throw error(errc::statement, "one statement at a time");
    return owned;
}

void bind_value(sqlite3_stmt* raw, int index, const tx_handle::sql_value& value) {
    int result = SQLITE_OK;
    if (const auto* integer = std::get_if<std::int64_t>(&value)) {
        result = sqlite3_bind_int64(raw, index, *integer);
    } else if (const auto* real = std::get_if<double>(&value)) {
        result = sqlite3_bind_double(raw, index, *real);
    } else if (const auto* text = std::get_if<std::string>(&value)) {
        result =
            sqlite3_bind_text64(raw, index, text->data(), text->size(), SQLITE_STATIC, SQLITE_UTF8);
    } else {
        result = sqlite3_bind_null(raw, index);
    }
    if (result != SQLITE_OK) fail_statement(sqlite3_db_handle(raw), result);
}

tx_handle::sql_value column_value(sqlite3_stmt* raw, int column) {
    switch (sqlite3_column_type(raw, column)) {
    case SQLITE_NULL:
        return nullptr;
    case SQLITE_INTEGER:
        return std::int64_t{sqlite3_column_int64(raw, column)};
    case SQLITE_FLOAT:
        return sqlite3_column_double(raw, column);
    default:
        break;
    }
    const auto* data = static_cast<const char*>(sqlite3_column_blob(raw, column));
    const auto size = static_cast<std::size_t>(sqlite3_column_bytes(raw, column));
    return data == nullptr ? std::string() : std::string(data, size);
}

} // namespace

callers_result run_callers_statement(
    connection& db, const std::string& sql, const std::vector<tx_handle::sql_value>& parameters
) {
    const owned_statement query = prepare_callers(db.raw(), sql);
    for (std::size_t i = 0; i < parameters.size(); ++i)
        bind_value(query.get(), static_cast<int>(i) + 1, parameters[i]);
    callers_result result;
    result.may_have_written = sqlite3_stmt_readonly(query.get()) == 0;
    for (;;) {
        const int outcome = sqlite3_step(query.get());
        if (outcome == SQLITE_DONE) return result;
        if (outcome != SQLITE_ROW) fail_statement(db.raw(), outcome);
        auto& values = result.rows.emplace_back();
        const int columns = sqlite3_column_count(query.get());
        for (int column = 0; column < columns; ++column)
            values.push_back(column_value(query.get(), column));
    }
}

} // namespace streamld::store::sqlite
