#pragma once
// What a nursery does with an exception that leaves a child: one line in the log.

#include <exception>
#include <functional>
#include <string_view>

namespace streamld::log {

/// `area` must be a literal.
[[nodiscard]] std::function<void(std::string_view, std::exception_ptr)>
failed_jobs_of(std::string_view area);

} // namespace streamld::log
