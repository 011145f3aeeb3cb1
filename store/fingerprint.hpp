#pragma once
// What makes two publishes the same for an idempotency key. Pure.

#include "store/engine.hpp"

#include <string>

namespace streamld::store {

/// SHA-256 over content type, batch mark and each event's key, snapshot mark and payload. 32 raw
/// bytes.
[[nodiscard]] std::string fingerprint_of(const append_request& request);

} // namespace streamld::store
