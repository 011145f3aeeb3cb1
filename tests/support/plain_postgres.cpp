#include "support/plain_postgres.hpp"

#include <libpq-fe.h>

#include <memory>
#include <poll.h>

namespace streamld::tests {

namespace {

using result_ptr = std::unique_ptr<PGresult, decltype(&PQclear)>;

sql_failure failure_of(PGconn* connection, const PGresult* result) {
    const char* words = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    const char* state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    return sql_failure(
        words == nullptr ? PQerrorMessage(connection) : words, state == nullptr ? "" : state
    );
}

std::vector<std::string> first_column(PGconn* connection, const PGresult* result) {
    const auto status = PQresultStatus(result);
    if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK && status != PGRES_EMPTY_QUERY)
        throw failure_of(connection, result);
    std::vector<std::string> found;
    if (PQnfields(result) == 0) return found;
    for (int row = 0; row < PQntuples(result); ++row)
        found.emplace_back(
            PQgetvalue(result, row, 0), static_cast<std::size_t>(PQgetlength(result, row, 0))
        );
    return found;
}

std::string first_of(const std::vector<std::string>& all) {
    return all.empty() ? std::string{} : all.front();
}

/// False after `at_most` without anything to read.
bool wait_readable(PGconn* connection, std::chrono::milliseconds at_most) {
    pollfd one{PQsocket(connection), POLLIN, 0};
    return ::poll(&one, 1, static_cast<int>(at_most.count())) > 0;
}

} // namespace

plain_postgres::plain_postgres(const std::string& url) : raw_(PQconnectdb(url.c_str())) {
    if (PQstatus(raw_) != CONNECTION_OK) {
        const sql_failure failure(PQerrorMessage(raw_));
        PQfinish(raw_);
        throw failure;
    }
    PQsetNoticeProcessor(
        raw_, [](void*, const char*) {}, nullptr
    );
}

plain_postgres::~plain_postgres() {
    PQfinish(raw_);
}

void plain_postgres::run(const std::string& sql) {
    static_cast<void>(column(sql));
}

std::string plain_postgres::value(const std::string& sql) {
    return first_of(column(sql));
}

std::vector<std::string> plain_postgres::column(const std::string& sql) {
    const result_ptr result(PQexec(raw_, sql.c_str()), &PQclear);
    return first_column(raw_, result.get());
}

std::string
plain_postgres::value(const std::string& sql, const std::vector<std::string>& parameters) {
    std::vector<const char*> values;
    for (const auto& parameter : parameters)
        values.push_back(parameter.c_str());
    const int count = static_cast<int>(values.size());
    const result_ptr result(
        PQexecParams(raw_, sql.c_str(), count, nullptr, values.data(), nullptr, nullptr, 0),
        &PQclear
    );
    return first_of(first_column(raw_, result.get()));
}

void plain_postgres::begin(const std::string& sql) {
    if (PQsendQuery(raw_, sql.c_str()) != 1) throw sql_failure(PQerrorMessage(raw_));
}

bool plain_postgres::is_done(std::chrono::milliseconds at_most) {
    const auto until = std::chrono::steady_clock::now() + at_most;
    while (PQconsumeInput(raw_) == 1 && PQisBusy(raw_) == 1) {
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
            until - std::chrono::steady_clock::now()
        );
        if (left.count() < 0 || !wait_readable(raw_, left)) return false;
    }
    return true;
}

std::string plain_postgres::finish() {
    std::string found;
    std::optional<sql_failure> failure;
    while (PGresult* raw = PQgetResult(raw_)) {
        const result_ptr result(raw, &PQclear);
        try {
            found = first_of(first_column(raw_, result.get()));
        } catch (const sql_failure& fault) {
            failure = fault;
        }
    }
    if (failure) throw *failure;
    return found;
}

std::optional<plain_postgres::notification>
plain_postgres::next_notification(std::chrono::milliseconds at_most) {
    const auto until = std::chrono::steady_clock::now() + at_most;
    for (;;) {
        if (PQconsumeInput(raw_) != 1) throw sql_failure(PQerrorMessage(raw_));
        if (PGnotify* raw = PQnotifies(raw_)) {
            notification found{raw->relname, raw->extra, raw->be_pid};
            PQfreemem(raw);
            return found;
        }
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
            until - std::chrono::steady_clock::now()
        );
        if (left.count() < 0 || !wait_readable(raw_, left)) return std::nullopt;
    }
}

int plain_postgres::backend_pid() const noexcept {
    return PQbackendPID(raw_);
}

std::string quoted(const std::string& text) {
    std::string literal = "E'";
    for (const char c : text) {
        if (c == '\'' || c == '\\') literal += c;
        literal += c;
    }
    return literal + "'";
}

} // namespace streamld::tests
