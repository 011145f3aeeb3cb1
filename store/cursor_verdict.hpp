#pragma once
// The one judge of cursors. Pure; every transport and the consumers ask it, so they cannot differ.

#include "store/event.hpp"

#include <optional>
#include <string>

namespace streamld::store {

/// What is known of a stream. head and horizon are stored numbers that only rise (they are
/// never derived from rows).
struct stream_bounds {
    bool exists = false;
    std::string epoch;    // 16 lower-case hex digits; empty where the stream does not exist.
    offset_t head = 0;    // The newest offset ever given, 0 if none.
    offset_t horizon = 0; // Everything up to here is trimmed.

    /// The first surviving event, if any.
    [[nodiscard]] std::optional<offset_t> oldest_available() const noexcept {
        return head > horizon ? std::optional<offset_t>{horizon + 1} : std::nullopt;
    }
};

enum class verdict {
    resolvable, // horizon <= after <= head
    trimmed,    // after < horizon
    ahead,      // after > head
    foreign,    // The reader names an epoch, and it is not this stream's.
};

/// An empty epoch means that the reader names none. Epoch is judged before anything else.
[[nodiscard]] verdict
judge(offset_t after, const std::string& epoch, const stream_bounds& bounds) noexcept;

} // namespace streamld::store
