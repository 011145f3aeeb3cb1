#pragma once
// Looks into a JSON object without building values, so that a member's bytes stay the publisher's.
// Any thread.

#include <string>
#include <string_view>
#include <vector>

namespace streamld::api {

struct json_member {
    std::string name;       // Unescaped.
    std::string_view value; // Its bytes, without the white space around them.
};

/// The members of an object in their order, duplicates included. `object` must have passed
/// store::check_json as an object; the views point into it.
[[nodiscard]] std::vector<json_member> members_of(std::string_view object);

/// What a JSON string says. Throws std::invalid_argument for an escaped lone surrogate: it has no
/// UTF-8.
[[nodiscard]] std::string unescape_json_string(std::string_view literal);

} // namespace streamld::api
