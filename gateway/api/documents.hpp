#pragma once
// The documents of PROTOCOL.md section 7 and the pages for people. Constant texts; any thread.

#include <string_view>

namespace streamld::api {

/// For JSON answers: read as JSON-LD with this context.
inline constexpr std::string_view context_link =
    "</streamld/context.jsonld>; rel=\"http://www.w3.org/ns/json-ld#context\"";

[[nodiscard]] std::string_view context_document() noexcept;
[[nodiscard]] std::string_view shapes_document() noexcept;

} // namespace streamld::api
