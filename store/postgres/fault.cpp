#include "store/postgres/fault.hpp"

#include <libpq-fe.h>

#include <array>
#include <string_view>
#include <utility>

namespace streamld::store::postgres {

namespace {

constexpr const char* unreachable = "the database cannot be reached";

struct meaning {
    std::string_view prefix; // Of the SQLSTATE.
    errc code;
    const char* detail; // Fit for clients.
};

// The first line that fits counts.
constexpr std::array meanings{
    meaning{"53100", errc::full, "no space left"},
    meaning{"53300", errc::unavailable, "the database takes no more connections now"},
    meaning{"53", errc::unavailable, "the database is short of resources"},
    meaning{"57P", errc::unavailable, "the database is stopping or starting"},
    meaning{"57014", errc::unavailable, "the statement was stopped"},
    meaning{"58", errc::unavailable, "the database has trouble with its storage"},
    meaning{"08", errc::unavailable, unreachable},
    meaning{"25006", errc::unavailable, "the database takes no writes now"},
    meaning{"25P03", errc::unavailable, "the transaction was idle for too long"},
    meaning{"55P03", errc::busy, "a lock was not given in time"},
    meaning{"40001", errc::busy, "another transaction was in the way"},
    meaning{"40P01", errc::busy, "another transaction was in the way"},
    meaning{"XX001", errc::corrupt, "the database is damaged"},
    meaning{"XX002", errc::corrupt, "the database is damaged"},
    meaning{"42P01", errc::foreign, "the schema is missing or of another version"},
    meaning{"3F000", errc::foreign, "the schema is missing or of another version"},
    meaning{"42883", errc::foreign, "the schema is missing or of another version"},
    meaning{"22021", errc::invalid_payload, "a text is not valid UTF-8"},
    meaning{"22P05", errc::invalid_payload, "a text is not valid UTF-8"},
    meaning{"42501", errc::unavailable, "the database does not permit this"},
    meaning{"", errc::unavailable, "the database refused the statement"},
};

const meaning& meaning_of(std::string_view sqlstate) noexcept {
    for (const meaning& each : meanings)
        if (sqlstate.starts_with(each.prefix)) return each;
    return meanings.back();
}

std::string first_line(const char* text) {
    const std::string_view all = text == nullptr ? "" : text;
    return std::string(all.substr(0, all.find('\n')));
}

} // namespace

postgres_fault::postgres_fault(
    errc code, const std::string& detail, std::string sqlstate, std::string words
)
    : error(code, detail), sqlstate_(std::move(sqlstate)), words_(std::move(words)) {}

bool postgres_fault::ends_connection() const noexcept {
    if (sqlstate_.empty()) return true;
    constexpr std::array<std::string_view, 4> ends{"57P", "08", "25006", "25P03"};
    for (const std::string_view prefix : ends)
        if (sqlstate_.starts_with(prefix)) return true;
    return false;
}

errc code_of(const std::string& sqlstate) noexcept {
    return meaning_of(sqlstate).code;
}

postgres_fault fault_of(const pg_result& failed) {
    const char* sqlstate = PQresultErrorField(&failed, PG_DIAG_SQLSTATE);
    const char* primary = PQresultErrorField(&failed, PG_DIAG_MESSAGE_PRIMARY);
    std::string words = first_line(primary != nullptr ? primary : PQresultErrorMessage(&failed));
    // Where libpq speaks for itself, the connection is gone.
    if (sqlstate == nullptr) return {errc::unavailable, unreachable, {}, std::move(words)};
    const meaning& found = meaning_of(sqlstate);
    return {found.code, found.detail, sqlstate, std::move(words)};
}

postgres_fault fault_of(const pg_conn& broken) {
    return {errc::unavailable, unreachable, {}, first_line(PQerrorMessage(&broken))};
}

} // namespace streamld::store::postgres
