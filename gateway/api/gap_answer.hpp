#pragma once
// The 409 of a start that is not resolvable: the GapSignal itself, never cached.

#include "hub/gap.hpp"
#include "net/response.hpp"

namespace streamld::api {

[[nodiscard]] net::response gap_answer(const gap_signal& gap, bool is_jsonld);

} // namespace streamld::api
