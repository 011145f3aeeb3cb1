#include "base/base64.hpp"

#include <cstdint>

namespace streamld {

void append_base64(std::string& out, std::string_view bytes) {
    static constexpr char alphabet[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    out.reserve(out.size() + (bytes.size() + 2) / 3 * 4);
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
        const std::size_t left = bytes.size() - i;
        const auto byte = [&](std::size_t k) -> std::uint32_t {
            return k < left ? static_cast<unsigned char>(bytes[i + k]) : 0U;
        };
        const std::uint32_t group = byte(0) << 16 | byte(1) << 8 | byte(2);
        out += alphabet[group >> 18 & 63];
        out += alphabet[group >> 12 & 63];
        out += left > 1 ? alphabet[group >> 6 & 63] : '=';
        out += left > 2 ? alphabet[group & 63] : '=';
    }
}

} // namespace streamld
