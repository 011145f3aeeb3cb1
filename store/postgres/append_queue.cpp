#include "store/postgres/append_queue.hpp"

#include <algorithm>
#include <set>
#include <string_view>
#include <unordered_set>
#include <utility>

namespace streamld::store::postgres {

namespace {

constexpr std::size_t passed_over_max = 1024; // How far a group looks past those that must wait.

/// What a group has taken so far.
class group_rule {
public:
    [[nodiscard]] bool admits(const append_request& request) {
        const std::string_view stream = request.stream;
        if (blocked_.contains(stream)) return false;
        const bool is_first = taken_.insert(stream).second;
        const bool is_fit = (is_first || !request.expected_head) &&
                            (request.idempotency_key.empty() ||
                             tokens_.emplace(stream, request.idempotency_key).second);
        if (!is_fit) blocked_.insert(stream);
        return is_fit;
    }

private:
    std::unordered_set<std::string_view> taken_;
    std::unordered_set<std::string_view> blocked_;
    std::set<std::pair<std::string_view, std::string_view>> tokens_;
};

} // namespace

void append_queue::push_front(append_list earlier) {
    for (auto last = earlier.rbegin(); last != earlier.rend(); ++last)
        waiting_.push_front(std::move(*last));
}

append_list append_queue::take_group(std::size_t events_max, std::size_t bytes_max) {
    append_list taken;
    append_list passed_over;
    group_rule rule;
    std::size_t events = 0;
    std::size_t bytes = 0;
    while (!waiting_.empty() && passed_over.size() < passed_over_max) {
        auto& next = waiting_.front();
        events += next->publish.request.events.size();
        bytes += next->seat.bytes();
        if (!taken.empty() && (events > events_max || bytes > bytes_max)) break;
        if (rule.admits(next->publish.request)) {
            taken.push_back(std::move(next));
        } else {
            events -= next->publish.request.events.size();
            bytes -= next->seat.bytes();
            passed_over.push_back(std::move(next));
        }
        waiting_.pop_front();
    }
    push_front(std::move(passed_over));
    return taken;
}

template <class Condition>
append_list append_queue::take_if(Condition condition) {
    append_list taken;
    for (auto& next : waiting_)
        if (condition(*next)) taken.push_back(std::move(next));
    std::erase(waiting_, nullptr);
    return taken;
}

append_list append_queue::take_late(deadline_t now) {
    return take_if([now](const pending_append& next) { return next.deadline <= now; });
}

append_list append_queue::take_older(deadline_t before) {
    return take_if([before](const pending_append& next) { return next.since <= before; });
}

void append_queue::hurry(deadline_t latest) noexcept {
    for (auto& next : waiting_)
        next->deadline = std::min(next->deadline, latest);
}

deadline_t append_queue::earliest_deadline() const noexcept {
    deadline_t earliest = deadline_t::max();
    for (const auto& next : waiting_)
        earliest = std::min(earliest, next->deadline);
    return earliest;
}

void refuse(append_list& all, const std::exception_ptr& fault) {
    for (const auto& one : all)
        one->done.fail(fault);
    all.clear();
}

} // namespace streamld::store::postgres
