#pragma once
// What the handlers need of the configuration. Filled by app/, constant while serving.

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace streamld::api {

struct settings {
    std::size_t payload_bytes_max = std::size_t{1} << 20; // --max-payload
    std::size_t batch_events_max = 10'000;                // --max-batch
    std::size_t body_bytes_max = std::size_t{16} << 20;   // --max-body
    std::chrono::milliseconds heartbeat{15'000};          // --heartbeat
    std::chrono::milliseconds store_timeout{10'000};      // One read or write of the store.
    std::chrono::milliseconds drain{10'000};              // --drain
    std::size_t subscriptions_per_connection_max = 1000;
    std::size_t publishes_per_connection_max = 256; // Under way at the same time on one WebSocket.
    std::string public_url; // --public-url, without a trailing slash; may be empty.
    std::vector<std::string> allowed_origins; // --allow-origin
    bool is_loopback = true; // Bound to loopback: Host is checked (PROTOCOL.md section 9).
};

} // namespace streamld::api
