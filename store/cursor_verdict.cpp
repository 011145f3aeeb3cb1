#include "store/cursor_verdict.hpp"

namespace streamld::store {

verdict judge(offset_t after, const std::string& epoch, const stream_bounds& bounds) noexcept {
    // A stream that does not exist has no epoch, so whoever names one means a stream that is gone.
    if (!epoch.empty() && epoch != bounds.epoch) return verdict::foreign;
    if (after < bounds.horizon) return verdict::trimmed;
    if (after > bounds.head) return verdict::ahead;
    return verdict::resolvable;
}

} // namespace streamld::store
