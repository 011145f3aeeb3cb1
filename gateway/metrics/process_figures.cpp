#include "metrics/exposition.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sys/resource.h>
#include <system_error>
#include <unistd.h>

namespace streamld {

namespace {

std::uint64_t resident_bytes() {
    std::uint64_t pages_total = 0;
    std::uint64_t pages_resident = 0;
    std::ifstream statm("/proc/self/statm");
    if (!(statm >> pages_total >> pages_resident)) return 0;
    return pages_resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

std::uint64_t open_files() {
    std::error_code ec;
    std::filesystem::directory_iterator each("/proc/self/fd", ec);
    std::uint64_t count = 0;
    for (const std::filesystem::directory_iterator end; !ec && each != end; each.increment(ec))
        ++count;
    return count > 0 ? count - 1 : 0; // Without the one that counts.
}

double seconds_of(const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

} // namespace

process_figures read_process_figures() {
    process_figures figures;
    figures.resident_bytes = resident_bytes();
    figures.open_files = open_files();
    rlimit files{};
    if (::getrlimit(RLIMIT_NOFILE, &files) == 0) figures.open_files_max = files.rlim_cur;
    rusage usage{};
    if (::getrusage(RUSAGE_SELF, &usage) == 0)
        figures.cpu_seconds = seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
    return figures;
}

} // namespace streamld
