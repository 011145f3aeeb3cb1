#pragma once
// The body of PUT /streams/{s}/consumers/{c}. Pure; any thread.

#include "store/event.hpp"

#include <string_view>

namespace streamld::api {

/// `{"offset":n}` and nothing else, n an integer literal. Throws problem.
[[nodiscard]] store::offset_t read_offset_body(std::string_view body);

} // namespace streamld::api
