#include "net/request.hpp"

#include "net/detail/tokens.hpp"

#include <algorithm>

namespace streamld::net {

std::optional<std::string_view> request::find(std::string_view name) const noexcept {
    for (const auto& each : headers) {
        if (detail::same_token(each.name, name)) return each.value;
    }
    return std::nullopt;
}

std::size_t request::count(std::string_view name) const noexcept {
    const auto named = [name](const header_field& each) {
        return detail::same_token(each.name, name);
    };
    return static_cast<std::size_t>(std::count_if(headers.begin(), headers.end(), named));
}

} // namespace streamld::net
