#pragma once
// The handlers that api/routes.cpp names; each noun and verb in a file of its own. Those that go on
// answering are in api/streaming.hpp.

#include "api/exchange.hpp"

#include <boost/asio/awaitable.hpp>

#include <optional>

namespace streamld::api {

using answer_t = boost::asio::awaitable<std::optional<net::response>>;

answer_t list_streams(exchange& request);    // GET    /streams
answer_t get_stream(exchange& request);      // GET    /streams/{s}
answer_t create_stream(exchange& request);   // PUT    /streams/{s}
answer_t publish_events(exchange& request);  // POST   /streams/{s}/events
answer_t read_events(exchange& request);     // GET    /streams/{s}/events
answer_t trim_events(exchange& request);     // DELETE /streams/{s}/events
answer_t get_event(exchange& request);       // GET    /streams/{s}/events/{n}
answer_t list_consumers(exchange& request);  // GET    /streams/{s}/consumers
answer_t get_consumer(exchange& request);    // GET    /streams/{s}/consumers/{c}
answer_t save_consumer(exchange& request);   // PUT    /streams/{s}/consumers/{c}
answer_t forget_consumer(exchange& request); // DELETE /streams/{s}/consumers/{c}
answer_t follow_streams(exchange& request);  // GET    /events
answer_t tell_health(exchange& request);     // GET    /healthz
answer_t tell_readiness(exchange& request);  // GET    /readyz
answer_t tell_metrics(exchange& request);    // GET    /metrics
answer_t show_front_page(exchange& request); // GET    /
answer_t explain_problem(exchange& request); // GET    /problems/{slug}
answer_t get_context(exchange& request);     // GET    /streamld/context.jsonld
answer_t get_shapes(exchange& request);      // GET    /streamld/model/envelope.ttl

} // namespace streamld::api
