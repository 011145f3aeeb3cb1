#include "api/parameters.hpp"

#include "api/problem.hpp"

#include <algorithm>

namespace streamld::api {

namespace {

int hex_value(char c) noexcept {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

bool is_unreserved(char c) noexcept {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_' || c == '~';
}

/// Known to every path and read by nobody here: trackers' names, and credentials (their values
/// never reach a text).
bool is_ignored(std::string_view name) noexcept {
    return name.starts_with('_') || name.starts_with("utm_") || name == "access_token" ||
           name == "ticket";
}

std::string decode_or_refuse(std::string_view text, std::string_view what) {
    auto decoded = percent_decode(text, true);
    if (!decoded)
        throw problem(
            "invalid-parameter",
            "a query parameter's " + std::string(what) + " is not percent-encoded properly"
        );
    return std::move(*decoded);
}

std::string unknown_name(std::string_view name, std::span<const std::string_view> known) {
    std::string text = "unknown query parameter " + quoted(name);
    if (known.empty()) return text + "; this path takes none";
    text += "; known here:";
    for (const auto one : known) {
        text += ' ';
        text += one;
    }
    return text;
}

} // namespace

parameters::parameters(std::string_view query, std::span<const std::string_view> known) {
    while (!query.empty()) {
        const auto end = std::min(query.find('&'), query.size());
        const auto pair = query.substr(0, end);
        query.remove_prefix(std::min(end + 1, query.size()));
        if (pair.empty()) continue;
        const auto equals = std::min(pair.find('='), pair.size());
        auto name = decode_or_refuse(pair.substr(0, equals), "name");
        if (is_ignored(name)) continue;
        if (std::find(known.begin(), known.end(), name) == known.end())
            throw problem("invalid-parameter", unknown_name(name, known));
        if (name != "stream" && find(name) != nullptr)
            throw problem(
                "invalid-parameter", "query parameter " + quoted(name) + " is given twice"
            );
        auto value = decode_or_refuse(pair.substr(std::min(equals + 1, pair.size())), "value");
        pairs_.emplace_back(std::move(name), std::move(value));
    }
}

const std::string* parameters::find(std::string_view name) const noexcept {
    for (const auto& [known, value] : pairs_)
        if (known == name) return &value;
    return nullptr;
}

std::vector<std::string> parameters::all(std::string_view name) const {
    std::vector<std::string> values;
    for (const auto& [known, value] : pairs_)
        if (known == name) values.push_back(value);
    return values;
}

bool parameters::flag(std::string_view name) const {
    const auto* value = find(name);
    if (value == nullptr || *value == "false") return false;
    if (*value == "true") return true;
    throw problem("invalid-parameter", "`" + std::string(name) + "` is `true` or `false`");
}

std::optional<store::offset_t> parse_offset(std::string_view digits) noexcept {
    constexpr std::size_t digits_max = 16; // 2^53 - 1 has that many, so nothing overflows.
    if (digits.empty() || digits.size() > digits_max) return std::nullopt;
    if (digits.size() > 1 && digits.front() == '0') return std::nullopt;
    store::offset_t value = 0;
    for (const char c : digits) {
        if (c < '0' || c > '9') return std::nullopt;
        value = value * 10 + (c - '0');
    }
    if (value > store::offset_max) return std::nullopt;
    return value;
}

std::optional<std::string> percent_decode(std::string_view text, bool plus_is_space) {
    std::string decoded;
    decoded.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '%') {
            if (i + 2 >= text.size()) return std::nullopt;
            const int high = hex_value(text[i + 1]);
            const int low = hex_value(text[i + 2]);
            if (high < 0 || low < 0) return std::nullopt;
            decoded += static_cast<char>(high * 16 + low);
            i += 2;
        } else {
            decoded += plus_is_space && text[i] == '+' ? ' ' : text[i];
        }
    }
    return decoded;
}

std::string percent_encode(std::string_view text) {
    static constexpr char hex[] = "0123456789ABCDEF";
    std::string encoded;
    encoded.reserve(text.size());
    for (const char c : text) {
        if (is_unreserved(c)) {
            encoded += c;
        } else {
            const auto byte = static_cast<unsigned char>(c);
            encoded += '%';
            encoded += hex[byte >> 4];
            encoded += hex[byte & 15];
        }
    }
    return encoded;
}

} // namespace streamld::api
