#include "base/job_log.hpp"

#include "base/log.hpp"

#include <string>
#include <utility>

namespace streamld::log {

std::function<void(std::string_view, std::exception_ptr)> failed_jobs_of(std::string_view area) {
    return [area](std::string_view job, std::exception_ptr fault) {
        std::string reason = "no exception of ours";
        try {
            std::rethrow_exception(std::move(fault));
        } catch (const std::exception& error) {
            reason = error.what();
        } catch (...) {
            // Nothing more is known of it.
        }
        write(level::error, area, "a job failed", {{"job", std::string{job}}, {"reason", reason}});
    };
}

} // namespace streamld::log
