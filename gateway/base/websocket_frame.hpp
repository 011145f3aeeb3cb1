#pragma once
// The header of an unmasked, unfragmented text frame (RFC 6455 section 5.2), for frames that are
// built once and shared.

#include <cstddef>
#include <string>

namespace streamld {

/// Appends the 2, 4 or 10 bytes in front of a text message of `payload_bytes`.
void append_text_frame_header(std::string& out, std::size_t payload_bytes);

/// The size of that header.
[[nodiscard]] std::size_t text_frame_header_bytes(std::size_t payload_bytes) noexcept;

} // namespace streamld
