#pragma once
// From a store URL to an engine; the only file that names a concrete engine.

#include "store/engine.hpp"

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

namespace streamld::store {

struct open_options {
    std::chrono::milliseconds poll_interval{1000}; // The fallback look for foreign commits.
    std::size_t readers = 2;                       // Reader threads (SQLite).
    std::size_t waiting_appends_max = 16384;       // Beyond: errc::busy at once.
    std::size_t waiting_bytes_max = std::size_t{256} << 20;
    std::size_t group_events_max = 512; // Events in one group commit (a larger publish goes alone).
    std::chrono::milliseconds busy_timeout{10'000}; // Waiting for another process's write lock.
    std::size_t wal_bytes_max = std::size_t{64} << 20;
};

/// What is wrong with a store URL, before anything is opened; empty: nothing.
[[nodiscard]] std::string fault_of_store_url(const std::string& url);

/// `sqlite:path` (`sqlite://path`, a plain path). Opens, checks and migrates; throws store::error.
/// The observer may be null, and outlives the engine.
[[nodiscard]] std::unique_ptr<engine>
open_engine(const std::string& url, const open_options& options, store_observer* observer);

} // namespace streamld::store
