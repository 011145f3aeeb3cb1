#pragma once
// Verbs that count. One object per shard, written by that shard only and read by whoever asks for
// /metrics; exposition.cpp alone knows the metrics' names.

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace streamld {

/// A counter with one writing thread: a plain load and store, no locked instruction.
class counter {
public:
    void add(std::uint64_t n = 1) noexcept {
        value_.store(value_.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
    }

    void subtract(std::uint64_t n = 1) noexcept {
        value_.store(value_.load(std::memory_order_relaxed) - n, std::memory_order_relaxed);
    }

    [[nodiscard]] std::uint64_t value() const noexcept {
        return value_.load(std::memory_order_relaxed);
    }

private:
    std::atomic<std::uint64_t> value_{0};
};

/// Durations in powers of two from 64 microseconds to 8 s, and beyond.
class histogram {
public:
    static constexpr std::size_t buckets = 19;
    void record(std::chrono::steady_clock::duration took) noexcept;
    /// The upper bound of a bucket in seconds; the last is infinity.
    [[nodiscard]] static double upper_bound(std::size_t bucket) noexcept;

    [[nodiscard]] std::uint64_t count(std::size_t bucket) const noexcept {
        return counts_[bucket].value();
    }

    [[nodiscard]] double sum_seconds() const noexcept {
        return static_cast<double>(sum_microseconds_.value()) / 1e6;
    }

private:
    std::array<counter, buckets> counts_;
    counter sum_microseconds_;
};

enum class transport { sse, websocket, longpoll, ndjson };
inline constexpr std::size_t transport_count = 4;

/// Why a reader's delivery ended; each is told to the client in its transport's language.
enum class ending {
    client_left,  // Closed, unsubscribed, or the network went.
    finished,     // The answer was complete (a range, a long-poll).
    gap,          // Told: trimmed, ahead or another epoch.
    replaced,     // The same connection subscribed anew.
    stuck,        // No progress of a write within its deadline.
    shutdown,     // The gateway drains.
    store_failed, // The log could not be read; the client comes back.
    expired,      // A token's end.
};
inline constexpr std::size_t ending_count = 8;

enum class gap_reason { trimmed, ahead, epoch };
inline constexpr std::size_t gap_reason_count = 3;

class probes {
public:
    void connection_opened() noexcept { connections_opened.add(); }

    void connection_closed() noexcept { connections_closed.add(); }

    void accept_failed() noexcept { accepts_failed.add(); }

    void bytes_sent(std::size_t n, std::size_t calls = 1) noexcept {
        sent_bytes.add(n);
        send_calls.add(calls);
    }

    void request_answered(int status) noexcept {
        answers[static_cast<std::size_t>(status / 100) % 6].add();
    }

    void published(std::size_t events) noexcept { events_published.add(events); }

    void publish_refused() noexcept { publishes_refused.add(); }

    void publish_took(std::chrono::steady_clock::duration took) noexcept {
        publish_time.record(took);
    }

    void reader_opened(transport by) noexcept {
        readers_opened[static_cast<std::size_t>(by)].add();
    }

    void reader_ended(transport by, ending why) noexcept {
        readers_ended[static_cast<std::size_t>(by)][static_cast<std::size_t>(why)].add();
    }

    void delivered(transport by, std::size_t events) noexcept {
        deliveries[static_cast<std::size_t>(by)].add(events);
    }

    void gap_told(gap_reason why) noexcept { gaps[static_cast<std::size_t>(why)].add(); }

    void reached_the_wire(std::chrono::steady_clock::duration since_commit) noexcept {
        commit_to_wire.record(since_commit);
    }

    void store_read() noexcept { store_reads.add(); }

    void tail_holds(std::size_t bytes) noexcept {
        tail_bytes.store(bytes, std::memory_order_relaxed);
    }

    [[nodiscard]] std::uint64_t connections() const noexcept {
        return connections_opened.value() - connections_closed.value();
    }

    counter connections_opened, connections_closed, accepts_failed, sent_bytes, send_calls;
    counter events_published, publishes_refused, store_reads;
    std::array<counter, 6> answers; // By class of status; 0 is unused.
    std::array<counter, transport_count> readers_opened, deliveries;
    std::array<std::array<counter, ending_count>, transport_count> readers_ended;
    std::array<counter, gap_reason_count> gaps;
    histogram publish_time, commit_to_wire;
    std::atomic<std::uint64_t> tail_bytes{0};
};

} // namespace streamld
