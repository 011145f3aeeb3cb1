#pragma once
// What a publish's headers and body mean, before anything is stored (PROTOCOL.md sections 2 and 4).
// Pure; any thread. Everything here throws problem.

#include "store/engine.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace streamld::api {

enum class body_kind {
    one_event,      // The body is the payload.
    form,           // What `curl -d` sends: the payload if it is JSON, else refused.
    lines,          // NDJSON, a payload a line.
    envelope_lines, // NDJSON, {"payload":...,"key"?,"isSnapshot"?} a line.
};

struct body_form {
    body_kind kind = body_kind::one_event;
    std::string content_type{store::default_content_type}; // As it is kept.
};

/// Empty views: the header is absent.
[[nodiscard]] body_form
read_body_form(std::string_view content_type, std::string_view content_encoding);

/// The key of header and query, which must not differ.
[[nodiscard]] std::optional<std::string>
read_key(std::optional<std::string_view> header, const std::string* query);

[[nodiscard]] std::string read_idempotency_key(std::optional<std::string_view> header);

/// If-Match: "<head>", one strong tag; If-None-Match: *, the same as head 0.
[[nodiscard]] std::optional<store::offset_t> read_expected_head(
    std::optional<std::string_view> if_match, std::optional<std::string_view> if_none_match
);

struct batch_limits {
    std::size_t payload_bytes_max = 0;
    std::size_t events_max = 0;
};

/// The events of an NDJSON body. `key` and `is_snapshot` go for each line that has none of its own.
[[nodiscard]] std::vector<store::new_event> read_lines(
    std::string_view body,
    body_kind kind,
    const std::optional<std::string>& key,
    bool is_snapshot,
    const batch_limits& limits
);

} // namespace streamld::api
