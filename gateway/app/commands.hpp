#pragma once
// `streamld <command> ...`: which command, and what it says. Returns the exit status.

#include <span>

namespace streamld::app {

[[nodiscard]] int run_command(std::span<const char* const> arguments);

} // namespace streamld::app
