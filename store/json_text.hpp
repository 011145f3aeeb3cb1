#pragma once
// Checks text without building values: UTF-8, one JSON value, nesting. Non-recursive, no
// allocation, any thread. The bytes are never changed; number spelling, member order and duplicates
// are the publisher's (RFC 8259 grammar; an escaped lone surrogate is accepted, a byte-order mark
// is not).

#include <cstddef>
#include <string_view>

namespace streamld::store {

[[nodiscard]] bool is_utf8(std::string_view text) noexcept;

/// UTF-8 without Unicode control characters (Cc).
[[nodiscard]] bool is_plain_utf8(std::string_view text) noexcept;

struct json_check {
    const char* fault =
        nullptr;            // Null: valid. Otherwise static text such as "nested deeper than 64".
    std::size_t at = 0;     // Byte position of the fault.
    bool is_object = false; // The value is an object.
    bool has_line_breaks = false; // Raw CR or LF between tokens; they become spaces on output.

    explicit operator bool() const noexcept { return fault == nullptr; }
};

[[nodiscard]] json_check check_json(std::string_view text, int depth_max) noexcept;

} // namespace streamld::store
