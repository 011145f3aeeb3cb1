#pragma once
// Three doors (header, query, WebSocket message), one struct, one set of rules.

#include "api/parameters.hpp"
#include "store/engine.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace streamld::api {

struct subscribe_request {
    std::string stream;
    store::start_point start;
    std::string epoch; // Empty: none named.
    std::string key;   // Empty: all.
};

/// Reads `after`, `last`, `from`, `consumer`, `key`, `epoch` (two of the first four contradict each
/// other: invalid-parameter; a bad `after`: invalid-cursor; a bad name or empty key: invalid-name).
/// `when_absent`: what no start option means (live for a subscription, oldest for a read).
[[nodiscard]] subscribe_request
read_subscribe_request(std::string stream, const parameters& query, store::start_kind when_absent);

/// A name outside a path: this server's own /streams/ URL with one more segment names that stream;
/// any other string is the name as it stands. Throws problem invalid-name.
[[nodiscard]] std::string
resolve_stream_name(std::string_view text, std::string_view host, std::string_view public_url);

} // namespace streamld::api
