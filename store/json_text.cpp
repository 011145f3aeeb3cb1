#include "store/json_text.hpp"

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

namespace streamld::store {

namespace {

using byte = unsigned char;

constexpr std::uint64_t ones = 0x0101010101010101U;
constexpr std::uint64_t highs = 0x8080808080808080U;

std::uint64_t load_word(const char* at) noexcept {
    std::uint64_t word = 0;
    std::memcpy(&word, at, sizeof word);
    return word;
}

bool is_continuation(char c) noexcept {
    return (static_cast<byte>(c) & 0xC0U) == 0x80U;
}

// The length of the well-formed sequence that starts with a byte >= 0x80, or 0 (Unicode table 3-7).
std::size_t utf8_length(const char* at, const char* end) noexcept {
    const auto lead = static_cast<byte>(*at);
    const auto left = static_cast<std::size_t>(end - at);
    if (lead < 0xC2 || lead > 0xF4 || left < 2 || !is_continuation(at[1])) return 0;
    const auto second = static_cast<byte>(at[1]);
    if (lead < 0xE0) return 2;
    if (left < 3 || !is_continuation(at[2])) return 0;
    if (lead < 0xF0) {
        const bool is_overlong = lead == 0xE0 && second < 0xA0;
        const bool is_surrogate = lead == 0xED && second > 0x9F;
        return is_overlong || is_surrogate ? 0 : 3;
    }
    if (left < 4 || !is_continuation(at[3])) return 0;
    const bool is_outside = (lead == 0xF0 && second < 0x90) || (lead == 0xF4 && second > 0x8F);
    return is_outside ? 0 : 4;
}

// How many of the eight bytes at `at` continue a plain run of a JSON string (8: all of them).
std::size_t plain_run(const char* at) noexcept {
    const std::uint64_t word = load_word(at);
    const std::uint64_t quotes = word ^ (ones * '"');
    const std::uint64_t slashes = word ^ (ones * '\\');
    // A borrow can only mark bytes above a true find, so the lowest mark is exact.
    const std::uint64_t found =
        ((word - ones * 0x20U) | (quotes - ones) | (slashes - ones) | word) & highs;
    if constexpr (std::endian::native == std::endian::little)
        return found == 0 ? 8 : static_cast<std::size_t>(std::countr_zero(found)) / 8;
    return found == 0 ? 8 : 0;
}

bool is_digit(char c) noexcept {
    return c >= '0' && c <= '9';
}

bool is_hex(char c) noexcept {
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

// Walks the text once. The nesting is one bit a level (1: object), so it costs no stack and no
// allocation.
class scanner {
public:
    scanner(std::string_view text, int depth_max) noexcept
        : begin_(text.data()), at_(begin_), end_(begin_ + text.size()), depth_max_(depth_max) {
        if (depth_max_ > static_cast<int>(levels_max)) depth_max_ = levels_max;
    }

    json_check run() noexcept {
        if (begin_ == end_) return failed("empty");
        if (std::string_view(begin_, end_).starts_with("\xEF\xBB\xBF"))
            return failed("begins with a byte-order mark");
        skip_space();
        const bool is_object = at_ != end_ && *at_ == '{';
        if (!scan_values()) return failed(fault_);
        skip_space();
        if (at_ != end_) return failed("text behind the value");
        json_check result;
        result.is_object = is_object;
        result.has_line_breaks = has_line_breaks_;
        return result;
    }

private:
    static constexpr std::size_t levels_max = 1024;

    json_check failed(const char* fault) const noexcept {
        json_check result;
        result.fault = fault;
        result.at = static_cast<std::size_t>(at_ - begin_);
        return result;
    }

    bool fail(const char* fault) noexcept {
        fault_ = fault;
        return false;
    }

    void skip_space() noexcept {
        for (; at_ != end_; ++at_) {
            const char c = *at_;
            if (c == '\n' || c == '\r') {
                has_line_breaks_ = true;
            } else if (c != ' ' && c != '\t') {
                return;
            }
        }
    }

    // One value with everything inside it.
    bool scan_values() noexcept {
        for (;;) {
            bool is_open = false; // A container began, and its first member is next.
            if (!scan_value(is_open)) return false;
            if (is_open) continue;
            if (!leave_values()) return false;
            if (depth_ == 0) return true;
        }
    }

    // A scalar, an empty container, or the start of a container.
    bool scan_value(bool& is_open) noexcept {
        skip_space();
        if (at_ == end_) return fail("ends before its value");
        switch (*at_) {
        case '{':
            return open(true, is_open);
        case '[':
            return open(false, is_open);
        case '"':
            return scan_string();
        case 't':
            return scan_word("true");
        case 'f':
            return scan_word("false");
        case 'n':
            return scan_word("null");
        default:
            return scan_number();
        }
    }

    bool open(bool is_object, bool& is_open) noexcept {
        if (depth_ >= depth_max_)
            return fail(depth_max_ == 64 ? "nested deeper than 64" : "nested too deep");
        ++at_;
        skip_space();
        if (at_ != end_ && *at_ == (is_object ? '}' : ']')) {
            ++at_;
            return true;
        }
        auto& word = levels_[static_cast<std::size_t>(depth_) / 64];
        const std::uint64_t bit = std::uint64_t{1} << (static_cast<unsigned>(depth_) % 64);
        word = is_object ? word | bit : word & ~bit;
        ++depth_;
        is_open = true;
        return !is_object || scan_name();
    }

    [[nodiscard]] bool is_in_object() const noexcept {
        const auto level = static_cast<unsigned>(depth_ - 1);
        return ((levels_[level / 64] >> (level % 64)) & 1U) != 0;
    }

    // Behind a value: a comma, or the ends of as many containers as end here.
    bool leave_values() noexcept {
        while (depth_ > 0) {
            skip_space();
            if (at_ == end_) return fail("ends inside an object or array");
            const bool is_object = is_in_object();
            if (*at_ == ',') {
                ++at_;
                return !is_object || scan_name();
            }
            if (*at_ != (is_object ? '}' : ']'))
                return fail("expected a comma or the end of the object or array");
            ++at_;
            --depth_;
        }
        return true;
    }

    bool scan_name() noexcept {
        skip_space();
        if (at_ == end_ || *at_ != '"') return fail("expected a member's name");
        if (!scan_string()) return false;
        skip_space();
        if (at_ == end_ || *at_ != ':') return fail("expected a colon");
        ++at_;
        return true;
    }

    bool scan_string() noexcept {
        ++at_;
        for (;;) {
            while (end_ - at_ >= 8) {
                const std::size_t run = plain_run(at_);
                at_ += run;
                if (run != 8) break;
            }
            if (at_ == end_) return fail("ends inside a string");
            const auto c = static_cast<byte>(*at_);
            if (c == '"') {
                ++at_;
                return true;
            }
            if (c == '\\') {
                if (!scan_escape()) return false;
            } else if (c < 0x20) {
                return fail("control character inside a string");
            } else if (c < 0x80) {
                ++at_;
            } else {
                const std::size_t length = utf8_length(at_, end_);
                if (length == 0) return fail("not valid UTF-8");
                at_ += length;
            }
        }
    }

    bool scan_escape() noexcept {
        if (end_ - at_ < 2) return fail("ends inside a string");
        const char kind = at_[1];
        if (kind != 'u') {
            if (kind == '\0' || std::strchr("\"\\/bfnrt", kind) == nullptr)
                return fail("unknown escape");
            at_ += 2;
            return true;
        }
        if (end_ - at_ < 6) return fail("ends inside a string");
        for (int i = 2; i < 6; ++i)
            if (!is_hex(at_[i])) return fail("unknown escape");
        at_ += 6;
        return true;
    }

    bool scan_word(std::string_view word) noexcept {
        if (!std::string_view(at_, end_).starts_with(word)) return fail("not a JSON value");
        at_ += word.size();
        return true;
    }

    bool scan_digits() noexcept {
        const char* start = at_;
        while (at_ != end_ && is_digit(*at_))
            ++at_;
        return at_ != start;
    }

    bool scan_number() noexcept {
        const char* start = at_;
        if (*at_ == '-') ++at_;
        if (at_ != end_ && *at_ == '0') {
            ++at_;
        } else if (!scan_digits()) {
            return fail(at_ == start ? "not a JSON value" : "bad number");
        }
        if (at_ != end_ && *at_ == '.') {
            ++at_;
            if (!scan_digits()) return fail("bad number");
        }
        if (at_ != end_ && (*at_ == 'e' || *at_ == 'E')) {
            ++at_;
            if (at_ != end_ && (*at_ == '+' || *at_ == '-')) ++at_;
            if (!scan_digits()) return fail("bad number");
        }
        return true;
    }

    const char* begin_;
    const char* at_;
    const char* end_;
    int depth_max_;
    int depth_ = 0;
    bool has_line_breaks_ = false;
    const char* fault_ = "not a JSON value";
    std::array<std::uint64_t, levels_max / 64> levels_{};
};

} // namespace

bool is_utf8(std::string_view text) noexcept {
    const char* at = text.data();
    const char* end = at + text.size();
    while (at != end) {
        if (end - at >= 8 && (load_word(at) & highs) == 0) {
            at += 8;
            continue;
        }
        const std::size_t length = static_cast<byte>(*at) < 0x80 ? 1 : utf8_length(at, end);
        if (length == 0) return false;
        at += length;
    }
    return true;
}

bool is_plain_utf8(std::string_view text) noexcept {
    const char* at = text.data();
    const char* end = at + text.size();
    while (at != end) {
        const auto c = static_cast<byte>(*at);
        if (c < 0x20 || c == 0x7F) return false;
        const std::size_t length = c < 0x80 ? 1 : utf8_length(at, end);
        if (length == 0) return false;
        const bool is_c1_control = c == 0xC2 && static_cast<byte>(at[1]) < 0xA0;
        if (is_c1_control) return false;
        at += length;
    }
    return true;
}

json_check check_json(std::string_view text, int depth_max) noexcept {
    scanner walk(text, depth_max);
    return walk.run();
}

} // namespace streamld::store
