#pragma once
// The event as every reader sees it, and the limits of names and numbers (StreamLD core, ADR-015
// section 3). Values only; any thread. An offset is the StreamLD sequence: per stream, from 1,
// dense, never reused.

#include "store/errors.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/value_to.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace streamld::store {

using offset_t = std::int64_t;

inline constexpr offset_t offset_max = (offset_t{1} << 53) - 1;
inline constexpr std::size_t name_bytes_max = 512;
inline constexpr std::size_t payload_bytes_max = std::size_t{16} << 20; // What any engine takes.
inline constexpr int json_depth_max = 64;
inline constexpr std::string_view default_content_type = "application/json";

/// A stream or consumer name: 1 to 512 bytes of UTF-8 without control characters, not "." or "..".
/// Names are compared byte for byte; nothing is normalised.
[[nodiscard]] bool is_valid_name(std::string_view name) noexcept;

/// A key: as a name, but "." and ".." are allowed. An empty key is invalid, never "no key".
[[nodiscard]] bool is_valid_key(std::string_view key) noexcept;

/// True for `application/json` and `*+json`: the payload is one JSON value, checked at publish.
[[nodiscard]] bool is_json_type(std::string_view content_type) noexcept;

struct stream_event {
    offset_t offset = 0;
    std::string stream;
    std::optional<std::string> key; // Carried metadata; no role in ordering (ADR-015 section 1).
    std::string payload;            // The publisher's bytes, unchanged.
    std::int64_t created_at = 0;    // Unix seconds, the engine's clock. Never used for ordering.
    bool is_snapshot = false;
    std::string content_type{default_content_type}; // Lower case, without parameters.

    /// Decodes the payload as JSON into T (Boost.JSON `value_to`). Throws error(errc::codec).
    template <class T>
    [[nodiscard]] T payload_as() const {
        try {
            return boost::json::value_to<T>(boost::json::parse(payload));
        } catch (const std::exception& fault) {
            throw error{errc::codec, fault.what()};
        }
    }
};

} // namespace streamld::store
