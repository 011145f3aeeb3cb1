#include "store/sqlite/database_file.hpp"

#include "store/sqlite/migrations.hpp"

#include <sqlite3.h>

#include <sys/stat.h>

#ifdef __linux__
#include <sys/vfs.h>
#endif

#include <algorithm>
#include <filesystem>
#include <thread>

namespace streamld::store::sqlite {

namespace {

constexpr std::int64_t application_id = 0x53744C44; // "StLD"

// The name of a network file system, or null. WAL's shared memory does not work over one.
const char* network_file_system(const std::string& path) {
#ifdef __linux__
    struct statfs info {};

    if (::statfs(path.c_str(), &info) != 0) return nullptr;
    switch (static_cast<std::uint32_t>(info.f_type)) {
    case 0x6969:
        return "NFS";
    case 0xFF534D42:
        return "CIFS";
    case 0xFE534D42:
        return "SMB2";
    case 0x517B:
        return "SMB";
    case 0x01021997:
        return "9p";
    case 0x5346414F:
        return "AFS";
    case 0x73757245:
        return "Coda";
    case 0x00C36400:
        return "Ceph";
    case 0x0BD00BD0:
        return "Lustre";
    default:
        return nullptr;
    }
#else
    (void)path;
    return nullptr;
#endif
}

void refuse_network(const std::string& path) {
    const auto parent = std::filesystem::path(path).parent_path();
    const char* kind = network_file_system(parent.empty() ? std::string(".") : parent.string());
    if (kind == nullptr) kind = network_file_system(path);
    if (kind == nullptr) return;
    throw error(
        errc::foreign,
        path + " is on a network file system (" + kind +
            "), where SQLite's write-ahead log is not safe"
    );
}

bool has_table(connection& db, const char* name) {
    statement query(db, "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?1");
    query.bind_text(1, name);
    return query.step();
}

// Refuses what is not ours. True if the file holds nothing at all yet.
bool check_ownership(connection& db, const std::string& path) {
    const bool is_empty = db.integer_of("SELECT count(*) FROM sqlite_schema") == 0;
    if (db.text_of("PRAGMA encoding") != "UTF-8")
        throw error(
            errc::foreign,
            path + " is not a UTF-8 database; streamld keeps bytes as they are and needs one"
        );
    const std::int64_t owner = db.integer_of("PRAGMA application_id");
    if (owner != 0 && owner != application_id && !has_table(db, "streamld_meta"))
        throw error(
            errc::foreign, path + " belongs to another application (its application_id is set)"
        );
    return is_empty;
}

int schema_version(connection& db) {
    if (!has_table(db, "streamld_meta")) return 0;
    return static_cast<int>(
        db.integer_of("SELECT value FROM streamld_meta WHERE key = 'schema_version'")
    );
}

void refuse_newer(int version, const std::string& path) {
    const int newest = migrations().back().version;
    if (version <= newest) return;
    throw error(
        errc::foreign,
        path + " has schema version " + std::to_string(version) + ", and this program knows " +
            std::to_string(newest) + " at most; use a newer streamld"
    );
}

void migrate(connection& db, const std::string& path, bool was_empty) {
    refuse_newer(schema_version(db), path);
    if (schema_version(db) == migrations().back().version) return;
    db.execute("BEGIN IMMEDIATE");
    // Another process may have been faster, so the version is read again under the lock.
    int version = schema_version(db);
    refuse_newer(version, path);
    for (const auto& step : migrations()) {
        if (step.version <= version) continue;
        db.execute(std::string(step.sql).c_str());
        version = step.version;
    }
    statement save(
        db, "INSERT OR REPLACE INTO streamld_meta (key, value) VALUES ('schema_version', ?1)"
    );
    save.bind(1, std::int64_t{version}).run();
    // A database that somebody else began keeps its own mark.
    if (was_empty)
        db.execute(("PRAGMA application_id = " + std::to_string(application_id)).c_str());
    db.execute("COMMIT");
}

// Switching the journal mode needs the file alone for a moment and does not wait for it by itself.
void use_write_ahead_log(
    connection& db, const std::string& path, std::chrono::milliseconds patience_time
) {
    const auto until = std::chrono::steady_clock::now() + patience_time;
    for (;;) {
        try {
            if (db.text_of("PRAGMA journal_mode = WAL") == "wal") return;
            throw error(errc::foreign, path + " cannot use a write-ahead log here");
        } catch (const storage_fault& fault) {
            if (fault.which() != errc::busy || std::chrono::steady_clock::now() >= until) throw;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
}

std::string for_operator(const error& fault, const std::string& path) {
    if (fault.which() == errc::corrupt) return path + " is not a SQLite database, or it is damaged";
    if (fault.which() == errc::unavailable) return path + " cannot be opened for writing";
    return path + ": " + fault.detail();
}

} // namespace

file_identity::file_identity(std::string path) : path_(std::move(path)) {
    struct stat info {};

    if (::stat(path_.c_str(), &info) != 0)
        throw error(errc::unavailable, path_ + " cannot be looked at");
    device_ = info.st_dev;
    inode_ = info.st_ino;
}

void file_identity::check() {
    if (!is_replaced()) {
        struct stat info {};

        const bool is_there = ::stat(path_.c_str(), &info) == 0;
        if (is_there && info.st_dev == device_ && info.st_ino == inode_) return;
        is_replaced_.store(true, std::memory_order_relaxed);
    }
    throw error(errc::foreign, "the database file was replaced");
}

std::uint64_t file_size(const std::string& path) noexcept {
    struct stat info {};

    return ::stat(path.c_str(), &info) == 0 ? static_cast<std::uint64_t>(info.st_size) : 0;
}

std::unique_ptr<connection> open_connection(const database_settings& settings, bool is_reader) {
    patience how_long;
    how_long.busy_timeout = settings.busy_timeout;
    return open_connection(settings, is_reader, std::move(how_long));
}

std::unique_ptr<connection>
open_connection(const database_settings& settings, bool is_reader, patience how_long) {
    auto db = std::make_unique<connection>(settings.path, std::move(how_long), false);
    // Checkpoints are the checkpointer's alone; on a writer's path they would make the publish
    // latency's tail.
    db->execute("PRAGMA synchronous = FULL;"
                "PRAGMA wal_autocheckpoint = 0;"
                "PRAGMA temp_store = MEMORY;"
                "PRAGMA cache_size = -16000");
    db->execute(("PRAGMA journal_size_limit = " + std::to_string(settings.wal_bytes_kept)).c_str());
    if (is_reader) db->execute("PRAGMA query_only = 1");
    return db;
}

database_settings prepare_database(const std::string& path, const open_options& options) {
    refuse_network(path);
    database_settings settings;
    settings.busy_timeout = options.busy_timeout;
    settings.wal_bytes_kept = static_cast<std::int64_t>(options.wal_bytes_max / 4);
    patience how_long;
    how_long.busy_timeout = options.busy_timeout;
    try {
        connection db(path, std::move(how_long), true);
        const bool was_empty = check_ownership(db, path);
        refuse_newer(schema_version(db), path);
        use_write_ahead_log(db, path, options.busy_timeout);
        db.execute("PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0");
        migrate(db, path, was_empty);
        settings.path = sqlite3_db_filename(db.raw(), "main");
    } catch (const storage_fault& fault) {
        const bool is_not_a_store = fault.which() == errc::corrupt;
        throw error(is_not_a_store ? errc::foreign : fault.which(), for_operator(fault, path));
    }
    return settings;
}

std::string schema_script() {
    const std::string version = std::to_string(migrations().back().version);
    std::string script = "-- The schema of streamld for SQLite 3.38 or later, version " + version +
                         ". For an empty file, or one without tables of streamld:\n"
                         "--   streamld sql --engine sqlite | sqlite3 -bail <file>\n\n"
                         "PRAGMA journal_mode = WAL;\n"
                         "BEGIN IMMEDIATE;\n\n";
    for (const auto& step : migrations())
        script += std::string(step.sql) + "\n";
    return script + "INSERT INTO streamld_meta (key, value)\nVALUES ('schema_version', " + version +
           ");\n\n-- Marks the file as ours; leave it out where the file is your application's "
           "own.\n"
           "PRAGMA application_id = " +
           std::to_string(application_id) + ";\n\nCOMMIT;\n";
}

} // namespace streamld::store::sqlite
