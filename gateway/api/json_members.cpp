#include "api/json_members.hpp"

#include <boost/json/parse.hpp>

#include <algorithm>

namespace streamld::api {

namespace {

constexpr std::string_view white = " \t\r\n";

/// One past the end of the string literal that begins at `at`.
std::size_t end_of_string(std::string_view text, std::size_t at) {
    for (++at; text[at] != '"'; ++at)
        if (text[at] == '\\') ++at;
    return at + 1;
}

/// One past the end of the value that begins at `at`.
std::size_t end_of_value(std::string_view text, std::size_t at) {
    int depth = 0;
    while (at < text.size()) {
        const char c = text[at];
        if (c == '"') {
            at = end_of_string(text, at);
        } else if (c == '{' || c == '[') {
            ++depth;
            ++at;
        } else if (c == '}' || c == ']') {
            if (depth == 0) return at; // A number or word that ends with the object.
            --depth;
            ++at;
        } else if (depth == 0 && (c == ',' || white.find(c) != std::string_view::npos)) {
            return at;
        } else {
            ++at;
            continue;
        }
        if (depth == 0) return at;
    }
    return at;
}

} // namespace

std::optional<std::string> string_value(std::string_view raw) {
    if (raw.size() < 2 || raw.front() != '"') return std::nullopt;
    if (raw.find('\\') == std::string_view::npos) return std::string{raw.substr(1, raw.size() - 2)};
    boost::system::error_code fault;
    const boost::json::value value = boost::json::parse(raw, fault);
    if (fault || !value.is_string()) return std::nullopt;
    return std::string{std::string_view{value.get_string()}};
}

std::optional<std::vector<json_member>> read_members(std::string_view text) {
    std::vector<json_member> members;
    const auto skip = [text](std::size_t from) { return text.find_first_not_of(white, from); };
    std::size_t at = skip(text.find('{') + 1);
    while (text[at] != '}') {
        const std::size_t name_end = end_of_string(text, at);
        std::optional<std::string> name = string_value(text.substr(at, name_end - at));
        if (!name) return std::nullopt;
        const std::size_t value = skip(skip(name_end) + 1); // Over the colon.
        const std::size_t value_end = end_of_value(text, value);
        const auto is_same = [&](const json_member& one) { return one.name == *name; };
        if (std::any_of(members.begin(), members.end(), is_same)) return std::nullopt;
        members.emplace_back(std::move(*name), text.substr(value, value_end - value));
        at = skip(value_end);
        if (text[at] == ',') at = skip(at + 1);
    }
    return members;
}

} // namespace streamld::api
