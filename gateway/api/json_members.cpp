#include "api/json_members.hpp"

#include <boost/json/parse.hpp>

#include <cstddef>
#include <stdexcept>

namespace streamld::api {

namespace {

/// Walks over text that is known to be valid JSON.
class scanner {
public:
    explicit scanner(std::string_view text) noexcept : text_(text) {}

    [[nodiscard]] char skip_space() noexcept {
        while (at_ < text_.size() && is_space(text_[at_]))
            ++at_;
        return at_ < text_.size() ? text_[at_] : '\0';
    }

    void step() noexcept { ++at_; }

    /// The string literal that begins here, with its quotes.
    std::string_view take_string() noexcept {
        const auto begin = at_++;
        while (at_ < text_.size() && text_[at_] != '"')
            at_ += text_[at_] == '\\' ? 2 : 1;
        ++at_;
        return text_.substr(begin, at_ - begin);
    }

    /// The value that begins here, of any kind.
    std::string_view take_value() noexcept {
        const auto begin = at_;
        int depth = 0;
        while (at_ < text_.size()) {
            const char c = text_[at_];
            if (c == '"') {
                take_string();
                continue;
            }
            if (depth == 0 && (c == ',' || c == '}' || c == ']' || is_space(c))) break;
            if (c == '{' || c == '[') ++depth;
            if (c == '}' || c == ']') --depth;
            ++at_;
        }
        return text_.substr(begin, at_ - begin);
    }

private:
    static bool is_space(char c) noexcept {
        return c == ' ' || c == '\t' || c == '\n' || c == '\r';
    }

    std::string_view text_;
    std::size_t at_ = 0;
};

} // namespace

std::string unescape_json_string(std::string_view literal) {
    if (literal.find('\\') == std::string_view::npos)
        return std::string(literal.substr(1, literal.size() - 2));
    boost::system::error_code ec;
    const auto value = boost::json::parse({literal.data(), literal.size()}, ec);
    if (ec || !value.is_string()) throw std::invalid_argument("not a string of Unicode characters");
    return std::string(value.get_string().data(), value.get_string().size());
}

std::vector<json_member> members_of(std::string_view object) {
    std::vector<json_member> members;
    scanner at(object);
    static_cast<void>(at.skip_space());
    at.step(); // {
    while (at.skip_space() == '"') {
        json_member member;
        const auto name = at.take_string();
        static_cast<void>(at.skip_space());
        at.step(); // :
        static_cast<void>(at.skip_space());
        member.value = at.take_value();
        try {
            member.name = unescape_json_string(name);
        } catch (const std::invalid_argument&) {
            member.name = name; // None of the names that we know.
        }
        members.push_back(std::move(member));
        if (at.skip_space() != ',') break;
        at.step();
    }
    return members;
}

} // namespace streamld::api
