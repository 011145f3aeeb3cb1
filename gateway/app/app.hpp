#pragma once
// The composition: what exists, in which order it is built, drained and taken down.

#include "app/config.hpp"

namespace streamld::app {

/// Serves until SIGTERM or SIGINT; returns the exit status. A second signal ends the process at
/// once.
[[nodiscard]] int serve(const config& settings);

} // namespace streamld::app
