#pragma once
// Everything between a request's head and its handler: host and origin, path and method, right,
// drain, query. Pure but for what it writes into the exchange; single thread.

#include "api/exchange.hpp"
#include "api/routes.hpp"

#include <optional>

namespace streamld::api {

struct admission {
    const route* row = nullptr;          // Who answers, or
    std::optional<net::response> answer; // the answer (OPTIONS).
};

/// Fills the exchange: path, names, query, host_url and common_headers. Throws problem.
[[nodiscard]] admission admit(exchange& request);

/// Does this request get an event stream if it succeeds? Known as soon as the row is.
[[nodiscard]] bool wants_event_stream(const exchange& request, const route& row);

/// What an event stream gets instead of an error that will pass: come back in a while (PROTOCOL.md
/// section 5).
[[nodiscard]] net::response come_back_later();

} // namespace streamld::api
