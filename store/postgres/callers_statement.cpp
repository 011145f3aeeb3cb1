#include "store/postgres/callers_statement.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

namespace streamld::store::postgres {

namespace {

// Types by their fixed numbers: int8, int2, int4, bool, float4, float8, numeric, bytea.
constexpr std::array<std::uint32_t, 4> integer_types{20, 21, 23, 16};
constexpr std::array<std::uint32_t, 3> real_types{700, 701, 1700};

template <std::size_t Size>
bool is_among(const std::array<std::uint32_t, Size>& types, type_oid type) {
    return std::find(types.begin(), types.end(), static_cast<std::uint32_t>(type)) != types.end();
}

/// Behind white space, semicolons and comments. A comment that does not end is the server's to
/// refuse.
std::string_view skip_blanks(std::string_view sql) {
    for (;;) {
        const auto begin = sql.find_first_not_of(" \t\r\n\f\v;");
        if (begin == std::string_view::npos) return {};
        sql.remove_prefix(begin);
        std::size_t end = 0;
        if (sql.starts_with("--")) {
            end = sql.find('\n');
        } else if (sql.starts_with("/*")) {
            int depth = 0;
            do {
                if (sql.substr(end).starts_with("/*")) {
                    ++depth;
                    end += 2;
                } else if (sql.substr(end).starts_with("*/")) {
                    --depth;
                    end += 2;
                } else {
                    ++end;
                }
            } while (depth > 0 && end < sql.size());
        } else {
            return sql;
        }
        if (end >= sql.size()) return {};
        sql.remove_prefix(end);
    }
}

std::string first_word(std::string_view sql) {
    std::string word;
    for (const char letter : skip_blanks(sql)) {
        if (std::isalpha(static_cast<unsigned char>(letter)) == 0) break;
        word += static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
    }
    return word;
}

/// `\x` and two digits a byte, as Postgres writes bytea.
std::string bytes_of_hex(std::string_view text) {
    std::string bytes;
    for (std::size_t i = 2; i + 1 < text.size(); i += 2) {
        unsigned byte = 0;
        std::from_chars(text.data() + i, text.data() + i + 2, byte, 16);
        bytes += static_cast<char>(byte);
    }
    return bytes;
}

template <class Number>
bool read_whole(std::string_view text, Number& number) {
    const char* const end = text.data() + text.size();
    const auto [rest, fault] = std::from_chars(text.data(), end, number);
    return fault == std::errc() && rest == end;
}

tx_handle::sql_value value_of(const result& rows, int row, int column) {
    if (rows.is_null(row, column)) return nullptr;
    const type_oid type = rows.type(column);
    const std::string_view text = rows.bytes(row, column);
    if (type == type_oid::boolean) return std::int64_t{text == "t"};
    std::int64_t integer = 0;
    const bool is_number = is_among(integer_types, type) || is_among(real_types, type);
    // A sum of integers is `numeric` in Postgres, and still an integer to the caller.
    const bool is_float = is_among(real_types, type) && static_cast<std::uint32_t>(type) != 1700;
    if (is_number && !is_float && read_whole(text, integer)) return integer;
    double real = 0;
    if (is_among(real_types, type) && read_whole(text, real)) return real;
    if (type == type_oid::bytes) return bytes_of_hex(text);
    return std::string(text);
}

} // namespace

query callers_query(const std::string& sql, const std::vector<tx_handle::sql_value>& parameters) {
    constexpr std::array refused{
        "begin", "start", "commit", "end", "rollback", "abort", "savepoint", "release", "prepare"};
    const std::string word = first_word(sql);
    if (skip_blanks(sql).empty()) throw error(errc::statement, "there is no statement in the text");
    if (std::find(refused.begin(), refused.end(), word) != refused.end())
        throw error(errc::statement, "the transaction's ends are not the statement's");
    query what(sql, answer_format::text);
    for (const auto& value : parameters) {
        if (const auto* integer = std::get_if<std::int64_t>(&value)) {
            what.inferred(std::to_string(*integer));
        } else if (const auto* real = std::get_if<double>(&value)) {
            std::array<char, 64> digits{};
            const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), *real).ptr;
            what.inferred(std::string_view(digits.data(), end));
        } else if (const auto* text = std::get_if<std::string>(&value)) {
            if (text->find('\0') != std::string::npos)
                throw error(errc::statement, "a text parameter has a NUL byte");
            what.inferred(*text);
        } else {
            what.null(type_oid::inferred);
        }
    }
    return what;
}

std::vector<tx_handle::sql_row> callers_rows(const result& rows) {
    std::vector<tx_handle::sql_row> values;
    values.reserve(static_cast<std::size_t>(rows.rows()));
    for (int row = 0; row < rows.rows(); ++row) {
        auto& added = values.emplace_back();
        for (int column = 0; column < rows.columns(); ++column)
            added.push_back(value_of(rows, row, column));
    }
    return values;
}

error callers_fault(const postgres_fault& fault) {
    // Transactions that met each other, resources, locks, operators, the system, the connection.
    constexpr std::array not_the_callers{"40", "53", "55", "57", "58", "08", "XX"};
    const std::string& state = fault.sqlstate();
    const bool is_of_the_storage =
        state.empty() || state == "25006" ||
        std::any_of(not_the_callers.begin(), not_the_callers.end(), [&](const char* prefix) {
            return state.starts_with(prefix);
        });
    if (is_of_the_storage) return error(fault.which(), fault.detail());
    return error(errc::statement, fault.words());
}

} // namespace streamld::store::postgres
