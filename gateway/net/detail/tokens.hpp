#pragma once
// The small grammar of header values: tokens compared without case, and comma-separated lists of
// them (RFC 9110, 5.6).

#include "net/request.hpp"

#include <string_view>

namespace streamld::net::detail {

inline char lower_ascii(char c) noexcept {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

inline bool same_token(std::string_view left, std::string_view right) noexcept {
    if (left.size() != right.size()) return false;
    for (std::size_t i = 0; i < left.size(); ++i) {
        if (lower_ascii(left[i]) != lower_ascii(right[i])) return false;
    }
    return true;
}

inline std::string_view trimmed(std::string_view text) noexcept {
    const auto is_space = [](char c) { return c == ' ' || c == '\t'; };
    while (!text.empty() && is_space(text.front()))
        text.remove_prefix(1);
    while (!text.empty() && is_space(text.back()))
        text.remove_suffix(1);
    return text;
}

/// Is `token` a member of the list?
inline bool list_has(std::string_view list, std::string_view token) noexcept {
    for (;;) {
        const auto comma = list.find(',');
        if (same_token(trimmed(list.substr(0, comma)), token)) return true;
        if (comma == std::string_view::npos) return false;
        list.remove_prefix(comma + 1);
    }
}

/// The same over all header lines of that name, which together are one list.
inline bool
headers_have(const request& head, std::string_view name, std::string_view token) noexcept {
    for (const auto& each : head.headers) {
        if (same_token(each.name, name) && list_has(each.value, token)) return true;
    }
    return false;
}

} // namespace streamld::net::detail
