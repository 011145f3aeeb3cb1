#include "metrics/probes.hpp"

#include <algorithm>
#include <bit>
#include <limits>

namespace streamld {

namespace {

constexpr std::uint64_t smallest_microseconds = 64;

} // namespace

void histogram::record(std::chrono::steady_clock::duration took) noexcept {
    const auto signed_microseconds =
        std::chrono::duration_cast<std::chrono::microseconds>(took).count();
    const auto microseconds =
        static_cast<std::uint64_t>(std::max<std::int64_t>(signed_microseconds, 0));
    // The first bucket whose bound (64 us << bucket) is not below the duration.
    const auto steps = (microseconds + smallest_microseconds - 1) / smallest_microseconds;
    const auto bucket = steps <= 1 ? 0 : static_cast<std::size_t>(std::bit_width(steps - 1));
    counts_[std::min(bucket, buckets - 1)].add();
    sum_microseconds_.add(microseconds);
}

double histogram::upper_bound(std::size_t bucket) noexcept {
    if (bucket + 1 >= buckets) return std::numeric_limits<double>::infinity();
    return static_cast<double>(smallest_microseconds << bucket) / 1e6;
}

} // namespace streamld
