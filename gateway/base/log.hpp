#pragma once
// One line an event on standard error: `level area message key=value ...`. Thread-safe, never
// throws, no payloads. Values are quoted where they need it, control characters escaped, so that
// one event is always one line.

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace streamld::log {

enum class level { debug, info, warning, error };

void set_level(level least) noexcept;

using field = std::pair<std::string_view, std::string>;

void write(
    level severity,
    std::string_view area,
    std::string_view message,
    std::initializer_list<field> fields = {}
) noexcept;

} // namespace streamld::log
