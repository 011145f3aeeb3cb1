#pragma once
// Base64 (RFC 4648 section 4, padded). Any thread.

#include <string>
#include <string_view>

namespace streamld {

void append_base64(std::string& out, std::string_view bytes);

} // namespace streamld
