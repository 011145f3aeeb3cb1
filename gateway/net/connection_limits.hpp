#pragma once
// The bounds of one connection: how much of everything, and how long each wait on the peer.

#include <chrono>
#include <cstddef>

namespace streamld::net {

struct connection_limits {
    // Request line and headers: 431 (414 where the target alone is over target_bytes_max).
    std::size_t head_bytes_max = 64 * 1024;
    std::size_t target_bytes_max = 16 * 1024;
    std::chrono::milliseconds idle_timeout{75'000}; // Between requests; longer than the proxies'.
    std::chrono::milliseconds surplus_timeout{
        2'000};                                     // For the one request of a connection too many.
    std::chrono::milliseconds head_timeout{15'000}; // From the first byte of a head to its end.
    std::chrono::milliseconds body_timeout{60'000}; // Without progress in a body.
    std::chrono::milliseconds body_total_timeout{300'000}; // For a whole body.
    // A write without progress: a minute, and a little, so that who stops for a minute is still
    // there.
    std::chrono::milliseconds write_timeout{65'000};
    std::chrono::milliseconds linger_timeout{
        2'000}; // Reading on behind the last word, without progress;
    std::chrono::milliseconds linger_total_timeout{30'000}; // in all,
    std::size_t linger_bytes_max = std::size_t{64} << 20;   // and how much of it.
    std::size_t outbox_high_water = 64 * 1024;
    std::chrono::milliseconds ping_interval{
        20'000};                  // Silence of a WebSocket's peer before it is asked,
    int pings_unanswered_max = 2; // and how often, before it counts as dead.
    std::chrono::milliseconds close_timeout{3'000}; // For the peer's half of the closing handshake.
};

} // namespace streamld::net
