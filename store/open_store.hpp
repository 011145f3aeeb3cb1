#pragma once
// From a store URL to an engine; the only file that names a concrete engine.

#include "store/engine.hpp"

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace streamld::store {

struct postgres_options {
    std::string listen_url;         // Where to LISTEN; empty: at the store's own URL.
    bool notify = true;             // False: neither LISTEN nor NOTIFY; wakes are by polling alone.
    std::size_t connections_max{8}; // For reads; about as many again serve writes and the watch.
    std::chrono::milliseconds start_patience{15'000}; // Waiting for the database at the open.
    std::chrono::milliseconds outage_patience{2000};  // A publish waits so long for its return.
};

struct open_options {
    std::chrono::milliseconds poll_interval{1000}; // The fallback look for foreign commits.
    std::size_t readers = 2;                       // Reader threads (SQLite).
    std::size_t waiting_appends_max = 16384;       // Beyond: errc::busy at once.
    std::size_t waiting_bytes_max = std::size_t{256} << 20;
    std::size_t group_events_max = 512; // Events in one group commit (a larger publish goes alone).
    std::chrono::milliseconds busy_timeout{10'000}; // Waiting for another process's write lock.
    std::size_t wal_bytes_max = std::size_t{64} << 20;
    postgres_options postgres;
};

/// What is wrong with a store URL, before anything is opened; empty: nothing.
[[nodiscard]] std::string fault_of_store_url(const std::string& url);

[[nodiscard]] bool is_postgres_url(const std::string& url) noexcept;

/// The URL with its passwords as "***", for a log or a screen.
[[nodiscard]] std::string printable_store_url(const std::string& url);

/// `postgres://...` (as libpq has it), `sqlite:path` (`sqlite://path`, a plain path). Opens, checks
/// and migrates; throws store::error. The observer may be null, and outlives the engine.
[[nodiscard]] std::unique_ptr<engine>
open_engine(const std::string& url, const open_options& options, store_observer* observer);

enum class schema_part { tables, tables_and_roles };

/// The engine's schema as SQL for its own shell: what the first open of an empty database does, and
/// the roles where there are any. Empty for an engine that is not `sqlite` or `postgres`.
[[nodiscard]] std::string
schema_text(std::string_view engine, schema_part part = schema_part::tables);

} // namespace streamld::store
