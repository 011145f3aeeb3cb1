#pragma once
// The GapSignal (StreamLD core section 3.1): what a reader is told that cannot be served from its
// cursor. A value.

#include "metrics/probes.hpp"
#include "store/cursor_verdict.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace streamld {

struct gap_signal {
    std::string stream;
    store::verdict reason = store::verdict::trimmed; // Never `resolvable`.
    store::stream_bounds bounds;

    gap_signal() = default;

    gap_signal(std::string name, store::verdict why, store::stream_bounds known)
        : stream(std::move(name)), reason(why), bounds(std::move(known)) {}
};

[[nodiscard]] gap_reason reason_of(const gap_signal& gap) noexcept;

/// `{"@type":"GapSignal",...}` without a line break. `ref_json`: the client's ref as JSON text, or
/// empty.
[[nodiscard]] std::string
gap_json(const gap_signal& gap, std::string_view ref_json = {}, bool is_jsonld = false);

} // namespace streamld
