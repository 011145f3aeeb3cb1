#include "store/event.hpp"

#include "store/json_text.hpp"

namespace streamld::store {

bool is_valid_name(std::string_view name) noexcept {
    return is_valid_key(name) && name != "." && name != "..";
}

bool is_valid_key(std::string_view key) noexcept {
    return !key.empty() && key.size() <= name_bytes_max && is_plain_utf8(key);
}

bool is_json_type(std::string_view content_type) noexcept {
    return content_type == default_content_type || content_type.ends_with("+json");
}

} // namespace streamld::store
