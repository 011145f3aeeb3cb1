#include "store/postgres/schema.hpp"

#include "store/postgres/fault.hpp"
#include "store/postgres/migrations.hpp"

#include <libpq-fe.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <thread>
#include <vector>

namespace streamld::store::postgres {

namespace {

using clock = std::chrono::steady_clock;

constexpr int oldest_server = 130000;

// Held while the schema changes, by us and by the script. "StLD"; the buckets of the streams' names
// are the numbers from 0.
constexpr std::string_view lock_schema =
    "DO $$ BEGIN PERFORM pg_advisory_xact_lock(1400130628, -1); END $$";

int newest_version() {
    return migrations().back().version;
}

std::string save_version() {
    return "INSERT INTO streamld.meta (key, value)\nVALUES ('schema_version', '" +
           std::to_string(newest_version()) +
           "')\nON CONFLICT (key) DO UPDATE\nSET value = excluded.value";
}

const char* advice() {
    return "; let the database's owner run: streamld sql --engine postgres | psql -v "
           "ON_ERROR_STOP=1 <database>";
}

// Keyword and value arrays as libpq wants them; views into the dsn.
struct connect_arguments {
    std::vector<const char*> names;
    std::vector<const char*> values;

    explicit connect_arguments(const dsn& where) {
        for (const auto& [name, value] : where.settings()) {
            names.push_back(name.c_str());
            values.push_back(value.c_str());
        }
        names.push_back(nullptr);
        values.push_back(nullptr);
    }
};

/// A blocking connection that turns whatever fails into an error for the operator.
class operator_session {
public:
    operator_session(const dsn& where, std::chrono::milliseconds patience);

    void check_server() const;

    /// 0: there is no schema.
    [[nodiscard]] int schema_version() const;

    void migrate();

private:
    struct finish {
        void operator()(PGconn* raw) const noexcept { PQfinish(raw); }
    };

    struct clear {
        void operator()(PGresult* raw) const noexcept { PQclear(raw); }
    };

    using answer = std::unique_ptr<PGresult, clear>;

    answer run(const std::string& sql) const;
    [[nodiscard]] std::string value(const std::string& sql) const;
    [[nodiscard]] error refusal(errc code, const std::string& words) const;
    [[nodiscard]] error refusal_of(const PGresult* failed) const;
    void refuse_newer(int version) const;
    void apply_migrations();

    std::string place_;
    std::string user_;
    std::unique_ptr<PGconn, finish> raw_;
};

operator_session::operator_session(const dsn& where, std::chrono::milliseconds patience)
    : place_(where.place()) {
    const auto until = clock::now() + patience;
    constexpr auto pause_max = std::chrono::milliseconds(500);
    auto pause = std::chrono::milliseconds(50);
    for (;;) {
        // libpq counts in seconds, and takes one for two.
        const auto left = std::chrono::ceil<std::chrono::seconds>(until - clock::now());
        const auto limit = std::clamp(left, std::chrono::seconds(2), std::chrono::seconds(10));
        const dsn limited = where.with("connect_timeout", std::to_string(limit.count()));
        const connect_arguments arguments(limited);
        raw_.reset(PQconnectdbParams(arguments.names.data(), arguments.values.data(), 0));
        if (PQstatus(raw_.get()) == CONNECTION_OK) break;
        const std::string words = fault_of(*raw_).words();
        if (clock::now() + pause >= until) throw refusal(errc::unavailable, words);
        // A server that answers has refused us: waiting does not help.
        const auto state = PQpingParams(arguments.names.data(), arguments.values.data(), 0);
        if (state == PQPING_OK || state == PQPING_NO_ATTEMPT)
            throw refusal(errc::unavailable, words);
        std::this_thread::sleep_for(pause);
        pause = std::min(pause * 2, pause_max);
    }
    PQsetNoticeProcessor(
        raw_.get(), [](void*, const char*) {}, nullptr
    );
    user_ = value("SELECT current_user");
}

error operator_session::refusal(errc code, const std::string& words) const {
    return error(code, "the database at " + place_ + ": " + words);
}

error operator_session::refusal_of(const PGresult* failed) const {
    if (failed == nullptr) return refusal(errc::unavailable, fault_of(*raw_).words());
    const postgres_fault fault = fault_of(*failed);
    const std::string& state = fault.sqlstate();
    const bool is_permission = state == "42501";
    // What the schema's files make is there already: somebody else's, or half of ours.
    const bool is_taken =
        state == "42P06" || state == "42P07" || state == "42723" || state == "42703";
    if (is_taken)
        return refusal(
            errc::foreign, "a schema named streamld is there and not ours (" + fault.words() + ")"
        );
    if (is_permission) return refusal(errc::foreign, fault.words() + " to the role " + user_);
    return refusal(fault.which(), fault.words());
}

operator_session::answer operator_session::run(const std::string& sql) const {
    answer result(PQexec(raw_.get(), sql.c_str()));
    const auto status = PQresultStatus(result.get());
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) throw refusal_of(result.get());
    return result;
}

std::string operator_session::value(const std::string& sql) const {
    const answer result = run(sql);
    return PQntuples(result.get()) == 0 ? "" : PQgetvalue(result.get(), 0, 0);
}

void operator_session::check_server() const {
    if (PQserverVersion(raw_.get()) < oldest_server)
        throw refusal(errc::foreign, "streamld needs Postgres 13 or later");
    const char* encoding = PQparameterStatus(raw_.get(), "server_encoding");
    if (encoding == nullptr || std::string_view(encoding) != "UTF8")
        throw refusal(
            errc::foreign,
            "streamld needs a database with the encoding UTF8, and this one has " +
                std::string(encoding == nullptr ? "none that is known" : encoding)
        );
}

int operator_session::schema_version() const {
    // Asked of the catalogue's rows: to_regclass() answers from a cache that does not yet know what
    // was committed while we waited for the lock.
    if (value("SELECT count(*) FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace "
              "WHERE n.nspname = 'streamld' AND c.relname = 'meta'") == "0")
        return 0;
    const std::string text = value("SELECT value FROM streamld.meta WHERE key = 'schema_version'");
    int version = 0;
    const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), version);
    if (fault != std::errc() || end != text.data() + text.size() || version < 1)
        throw refusal(
            errc::foreign, "a schema named streamld is there and has no schema_version of ours"
        );
    refuse_newer(version);
    return version;
}

void operator_session::refuse_newer(int version) const {
    if (version <= newest_version()) return;
    throw refusal(
        errc::foreign,
        "the schema has version " + std::to_string(version) + ", and this program knows " +
            std::to_string(newest_version()) + " at most; use a newer streamld"
    );
}

void operator_session::migrate() {
    if (schema_version() == newest_version()) return;
    const std::string lack = "the schema streamld is absent or older, and ";
    if (value("SHOW transaction_read_only") == "on")
        throw refusal(errc::unavailable, lack + "the server takes no writes now" + advice());
    const bool may_create =
        value("SELECT has_database_privilege(current_database(), 'CREATE')") == "t" ||
        value("SELECT to_regnamespace('streamld') IS NOT NULL") == "t";
    if (!may_create)
        throw refusal(errc::foreign, lack + "the role " + user_ + " may not create it" + advice());
    try {
        apply_migrations();
    } catch (const error& fault) {
        // The session ends with the transaction open, which rolls it back.
        if (fault.which() != errc::foreign) throw;
        throw error(errc::foreign, fault.detail() + advice());
    }
}

void operator_session::apply_migrations() {
    run("BEGIN ISOLATION LEVEL READ COMMITTED");
    run(std::string(lock_schema));
    // Another gateway may have been faster, so the version is read again under the lock.
    const int version = schema_version();
    for (const auto& step : migrations())
        if (step.version > version) run(std::string(step.sql));
    if (version < newest_version()) run(save_version());
    run("COMMIT");
}

} // namespace

void prepare_database(const dsn& where, std::chrono::milliseconds patience) {
    operator_session session(where, patience);
    session.check_server();
    session.migrate();
}

std::string schema_script(bool with_roles) {
    std::string script =
        "-- The schema of streamld for Postgres 13 or later, version " +
        std::to_string(newest_version()) +
        ". For an empty database, or one without a schema streamld:\n"
        "--   streamld sql --engine postgres | psql -v ON_ERROR_STOP=1 <database>\n"
        "-- Its owner will be whoever runs it.\n\n"
        "BEGIN ISOLATION LEVEL READ COMMITTED;\n\n"
        "-- Nobody else changes the schema meanwhile.\n";
    script += std::string(lock_schema) + ";\n\n";
    for (const auto& step : migrations())
        script += std::string(step.sql) + "\n";
    script += save_version() + ";\n";
    if (with_roles) script += "\n" + std::string(roles());
    return script + "\nCOMMIT;\n";
}

} // namespace streamld::store::postgres
