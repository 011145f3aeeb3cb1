#pragma once
// Gathers the page of a long-poll: done with the first events, at most `limit` of them. Single
// thread.

#include "hub/sink.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>

namespace streamld {

class longpoll_sink final : public sink {
public:
    explicit longpoll_sink(std::size_t limit) : limit_(limit) {}

    void watch(wakeup&) override {}

    void unwatch(wakeup&) noexcept override {}

    [[nodiscard]] bool is_ready() const noexcept override { return true; }

    [[nodiscard]] bool is_gone() const noexcept override { return false; }

    [[nodiscard]] bool wants_more() const noexcept override { return count_ == 0; }

    void frames(const frame_slice& slice) override;

    void moved(offset_t scanned) override { scanned_ = std::max(scanned_, scanned); }

    void caught_up(offset_t) override {}

    void gap(const gap_signal& signal) override { gap_ = signal; }

    [[nodiscard]] const std::string& items() const noexcept { return items_; }

    [[nodiscard]] std::size_t count() const noexcept { return count_; }

    [[nodiscard]] offset_t last() const noexcept { return last_; }

    [[nodiscard]] offset_t scanned() const noexcept { return scanned_; }

    [[nodiscard]] const std::optional<gap_signal>& told_gap() const noexcept { return gap_; }

private:
    std::size_t limit_;
    std::string items_; // EventEnvelopes joined by commas.
    std::size_t count_ = 0;
    offset_t last_ = 0;
    offset_t scanned_ = 0;
    std::optional<gap_signal> gap_;
};

} // namespace streamld
