#include "base/json_string.hpp"

#include <array>
#include <charconv>

namespace streamld {

void append_json_string(std::string& out, std::string_view text) {
    static constexpr char hex[] = "0123456789abcdef";
    out += '"';
    std::size_t plain = 0; // Start of the run that needs no escape.
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto c = static_cast<unsigned char>(text[i]);
        if (c >= 0x20 && c != '"' && c != '\\') continue;
        out.append(text, plain, i - plain);
        plain = i + 1;
        if (c == '"' || c == '\\') {
            out += '\\';
            out += static_cast<char>(c);
        } else {
            out += "\\u00";
            out += hex[c >> 4];
            out += hex[c & 15];
        }
    }
    out.append(text, plain, text.size() - plain);
    out += '"';
}

void append_integer(std::string& out, std::int64_t value) {
    std::array<char, 24> digits{};
    const auto [end, fault] = std::to_chars(digits.data(), digits.data() + digits.size(), value);
    out.append(digits.data(), end);
}

void json_object::begin(std::string_view name) {
    if (!is_first_) out_ += ',';
    is_first_ = false;
    append_json_string(out_, name);
    out_ += ':';
}

json_object& json_object::text(std::string_view name, std::string_view value) {
    begin(name);
    append_json_string(out_, value);
    return *this;
}

json_object& json_object::number(std::string_view name, std::int64_t value) {
    begin(name);
    append_integer(out_, value);
    return *this;
}

json_object& json_object::boolean(std::string_view name, bool value) {
    begin(name);
    out_ += value ? "true" : "false";
    return *this;
}

json_object& json_object::raw(std::string_view name, std::string_view json) {
    begin(name);
    out_ += json;
    return *this;
}

} // namespace streamld
