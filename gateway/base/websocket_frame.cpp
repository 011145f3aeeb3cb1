#include "base/websocket_frame.hpp"

#include <cstdint>

namespace streamld {

void append_text_frame_header(std::string& out, std::size_t payload_bytes) {
    out.push_back('\x81'); // FIN, opcode text.
    const auto append_big_endian = [&out, payload_bytes](int bytes) {
        for (int shift = (bytes - 1) * 8; shift >= 0; shift -= 8) {
            out.push_back(static_cast<char>((std::uint64_t{payload_bytes} >> shift) & 0xff));
        }
    };
    if (payload_bytes < 126) {
        append_big_endian(1);
    } else if (payload_bytes <= 0xffff) {
        out.push_back('\x7e');
        append_big_endian(2);
    } else {
        out.push_back('\x7f');
        append_big_endian(8);
    }
}

std::size_t text_frame_header_bytes(std::size_t payload_bytes) noexcept {
    if (payload_bytes < 126) return 2;
    return payload_bytes <= 0xffff ? 4 : 10;
}

} // namespace streamld
