#pragma once
// The members of a JSON object as text: what a client sent stays as it was spelled, so that a
// payload inside a message keeps its bytes and a number its digits. Pure.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace streamld::api {

struct json_member {
    std::string name;     // Decoded.
    std::string_view raw; // The value's text, a view into what was parsed.

    json_member(std::string decoded, std::string_view value)
        : name(std::move(decoded)), raw(value) {}
};

/// `text` must be a valid JSON object (store::check_json). Empty optional where a name stands
/// twice.
[[nodiscard]] std::optional<std::vector<json_member>> read_members(std::string_view text);

/// The value of a JSON string literal; empty optional where `raw` is none, or holds an escaped lone
/// surrogate.
[[nodiscard]] std::optional<std::string> string_value(std::string_view raw);

} // namespace streamld::api
