#pragma once
// Media types: what an Accept header prefers, and what a Content-Type says. Pure; any thread.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace streamld::api {

enum class representation { json, jsonld, ndjson, event_stream };

/// What GET /streams/{s}/events can be.
inline constexpr representation event_offers[] = {
    representation::json,
    representation::jsonld,
    representation::ndjson,
    representation::event_stream};

/// The offer that `accept` prefers: by weight, then by how exactly it is named, then by where it
/// stands in the header, then by the order of the offers. An absent or empty header takes the
/// first. Empty: none is acceptable.
[[nodiscard]] std::optional<representation>
negotiate(std::string_view accept, std::span<const representation> offers);

struct media_type {
    std::string essence; // `type/subtype` in lower case.
    std::vector<std::pair<std::string, std::string>>
        parameters; // Names in lower case, values without quotes.

    [[nodiscard]] const std::string* find(std::string_view name) const noexcept;
};

/// Empty where it is no media type (RFC 9110 section 8.3.1).
[[nodiscard]] std::optional<media_type> parse_media_type(std::string_view text);

[[nodiscard]] std::string lower_case(std::string_view text);

} // namespace streamld::api
