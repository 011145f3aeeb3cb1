#pragma once
// What the engine may know about its files without opening them: sizes and identity by stat(), the
// kind of file system by statfs(). (Closing any other descriptor of a database file would drop
// SQLite's locks.) And the one way in: prepare_database() checks that a file is ours to use, and
// brings its schema up to date.

#include "store/open_store.hpp"
#include "store/sqlite/connection.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <sys/types.h>

namespace streamld::store::sqlite {

/// What every connection of the engine is opened with.
struct database_settings {
    std::string path; // As SQLite resolved it.
    std::chrono::milliseconds busy_timeout{10'000};
    std::int64_t wal_bytes_kept = 16 << 20; // The -wal shrinks to this when it starts over.
};

/// The file the engine opened, and whether its path still leads there. Any thread.
class file_identity {
public:
    explicit file_identity(std::string path);

    /// Looks again. Throws errc::foreign once the path leads elsewhere, and for ever after.
    void check();

    [[nodiscard]] bool is_replaced() const noexcept {
        return is_replaced_.load(std::memory_order_relaxed);
    }

private:
    std::string path_;
    dev_t device_ = 0;
    ino_t inode_ = 0;
    std::atomic<bool> is_replaced_{false};
};

[[nodiscard]] std::uint64_t file_size(const std::string& path) noexcept;

/// A connection with our pragmas. `is_reader` ones refuse to write.
[[nodiscard]] std::unique_ptr<connection>
open_connection(const database_settings& settings, bool is_reader);
[[nodiscard]] std::unique_ptr<connection>
open_connection(const database_settings& settings, bool is_reader, patience how_long);

/// Opens or creates, checks, migrates. Throws store::error with a detail for the operator.
[[nodiscard]] database_settings
prepare_database(const std::string& path, const open_options& options);

/// What prepare_database() does to an empty file, for the sqlite3 shell, in one transaction.
[[nodiscard]] std::string schema_script();

} // namespace streamld::store::sqlite
