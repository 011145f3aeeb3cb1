#pragma once
// Query parameters, decoded once. One integer parser and one set of rules for every door (REST,
// SSE, WebSocket URL).

#include "store/event.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace streamld::api {

class parameters {
public:
    /// Parses `a=1&b=%2F`. Names beginning with `_` or `utm_`, `access_token` and `ticket` are
    /// dropped. Throws problem (invalid-parameter) for bad percent-encoding, a parameter given
    /// twice (except `stream`), or an unknown one.
    parameters() = default;
    parameters(std::string_view query, std::span<const std::string_view> known);

    /// What another door (a WebSocket message) has read and checked by itself.
    explicit parameters(std::vector<std::pair<std::string, std::string>> pairs)
        : pairs_(std::move(pairs)) {}

    [[nodiscard]] const std::string* find(std::string_view name) const noexcept;
    [[nodiscard]] std::vector<std::string> all(std::string_view name) const;

    /// `true` or `false`; absent is false. Throws problem invalid-parameter.
    [[nodiscard]] bool flag(std::string_view name) const;

private:
    std::vector<std::pair<std::string, std::string>> pairs_;
};

/// Decimal digits without leading zeros, 0 to 2^53-1. Nothing else.
[[nodiscard]] std::optional<store::offset_t> parse_offset(std::string_view digits) noexcept;

/// One percent-decoding; empty where it is malformed. `plus_is_space` for queries.
[[nodiscard]] std::optional<std::string> percent_decode(std::string_view text, bool plus_is_space);

/// For URLs that we write: everything but unreserved characters is encoded.
[[nodiscard]] std::string percent_encode(std::string_view text);

} // namespace streamld::api
