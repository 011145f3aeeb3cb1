#pragma once
// The answers that go on: event streams, long-polls, NDJSON ranges and WebSockets. The routing by
// method, path and Accept is done before; each reads its own options from the exchange. They answer
// by themselves where they return nothing.

#include "api/exchange.hpp"

#include <boost/asio/awaitable.hpp>

#include <optional>
#include <string>
#include <vector>

namespace streamld::api {

/// text/event-stream of one stream (GET or HEAD /streams/{s}/events) or of several (`GET
/// /events?stream=...`).
boost::asio::awaitable<std::optional<net::response>>
answer_event_stream(exchange& request, std::vector<std::string> streams, bool is_multiple);

/// A page that waits (`wait=`).
boost::asio::awaitable<std::optional<net::response>>
answer_long_poll(exchange& request, std::string stream, bool is_jsonld);

/// Every EventEnvelope of a range, one a line, with constant memory.
boost::asio::awaitable<std::optional<net::response>>
answer_ndjson(exchange& request, std::string stream);

/// GET /replication.
boost::asio::awaitable<std::optional<net::response>> answer_replication(exchange& request);

} // namespace streamld::api
