#pragma once
// /metrics as Prometheus text: the one place that knows the metrics' names. Reads counters that
// other threads write; each is exact, together they are of nearly one moment. Any thread.

#include "metrics/probes.hpp"
#include "store/engine.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace streamld {

/// This process as its kernel sees it; 0 where it will not say.
struct process_figures {
    std::uint64_t resident_bytes = 0;
    std::uint64_t open_files = 0;
    std::uint64_t open_files_max = 0;
    double cpu_seconds = 0;
};

[[nodiscard]] process_figures read_process_figures();

/// `shards`: one probes object for each.
[[nodiscard]] std::string exposition(
    std::span<const probes* const> shards,
    const store::engine_figures& figures,
    const process_figures& process,
    std::string_view version
);

} // namespace streamld
