#include "net/chunked_decoder.hpp"

#include <algorithm>

namespace streamld::net {

namespace {

constexpr std::size_t ignored_bytes_max = 16 * 1024;
constexpr int size_digits_max = 15; // Below 2^60: nothing can overflow.

int hex_value(char c) noexcept {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

bool is_control(char c) noexcept {
    return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f;
}

} // namespace

chunked_decoder::progress
chunked_decoder::feed(std::string_view& input, std::string& body, std::size_t body_bytes_max) {
    while (!input.empty() && !is_done_) {
        if (next_ == expecting::data) {
            if (take_data(input, body, body_bytes_max) == progress::too_large) {
                return progress::too_large;
            }
            continue;
        }
        const char c = input.front();
        input.remove_prefix(1);
        if (!take_framing(c)) return progress::malformed;
    }
    return is_done_ ? progress::done : progress::need_more;
}

chunked_decoder::progress
chunked_decoder::take_data(std::string_view& input, std::string& body, std::size_t body_bytes_max) {
    // The announced size already tells; there is no need to wait for the bytes.
    if (remaining_ > body_bytes_max - std::min(body.size(), body_bytes_max)) {
        return progress::too_large;
    }
    const auto taken = static_cast<std::size_t>(std::min<std::uint64_t>(remaining_, input.size()));
    body.append(input.substr(0, taken));
    input.remove_prefix(taken);
    remaining_ -= taken;
    if (remaining_ == 0) next_ = expecting::data_cr;
    return progress::need_more;
}

bool chunked_decoder::take_size_digit(char c) {
    const int digit = hex_value(c);
    if (digit < 0 || ++digits_ > size_digits_max) return false;
    remaining_ = remaining_ * 16 + static_cast<std::uint64_t>(digit);
    next_ = expecting::size_end;
    return true;
}

// One byte that is not data. False: malformed.
bool chunked_decoder::take_framing(char c) {
    const auto go_on = [this](bool is_right, expecting next) {
        next_ = next;
        return is_right;
    };
    switch (next_) {
    case expecting::size:
        return take_size_digit(c);
    case expecting::size_end:
        if (c == '\r') return go_on(true, expecting::size_lf);
        if (c == ';') return go_on(true, expecting::extension);
        if (c == ' ' || c == '\t') return go_on(true, expecting::size_space);
        return take_size_digit(c);
    case expecting::size_space:
        if (c == '\r') return go_on(true, expecting::size_lf);
        if (c == ';') return go_on(true, expecting::extension);
        return (c == ' ' || c == '\t') && ++ignored_bytes_ <= ignored_bytes_max;
    case expecting::extension:
        if (c == '\r') return go_on(true, expecting::size_lf);
        return !is_control(c) && ++ignored_bytes_ <= ignored_bytes_max;
    case expecting::size_lf:
        digits_ = 0;
        return go_on(c == '\n', remaining_ > 0 ? expecting::data : expecting::trailer_start);
    case expecting::data:
        return false;
    case expecting::data_cr:
        return go_on(c == '\r', expecting::data_lf);
    case expecting::data_lf:
        return go_on(c == '\n', expecting::size);
    case expecting::trailer_start:
        if (c == '\r') return go_on(true, expecting::last_lf);
        next_ = expecting::trailer;
        return !is_control(c) && ++ignored_bytes_ <= ignored_bytes_max;
    case expecting::trailer:
        if (c == '\r') return go_on(true, expecting::trailer_lf);
        return !is_control(c) && ++ignored_bytes_ <= ignored_bytes_max;
    case expecting::trailer_lf:
        return go_on(c == '\n', expecting::trailer_start);
    case expecting::last_lf:
        is_done_ = true;
        return c == '\n';
    }
    return false;
}

} // namespace streamld::net
