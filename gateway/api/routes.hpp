#pragma once
// THE table: every path and method, the right it needs, the query names it knows and who answers.
// Constant; any thread.

#include "api/exchange.hpp"
#include "auth/policy.hpp"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace streamld::api {

/// When the answer is an event stream, which never fails with an error status for what will pass.
enum class event_stream_rule { never, by_accept, always };

struct route {
    std::string_view method;  // GET answers HEAD, too.
    std::string_view pattern; // `{s}`, `{c}`: a stream's or consumer's name; `{n}`, `{slug}`: read
                              // by the handler.
    auth::right needed;
    std::span<const std::string_view> query_names;
    handler answer;
    bool is_new_work = false; // Refused while the gateway drains.
    event_stream_rule event_stream = event_stream_rule::never;
};

struct route_match {
    const route* row = nullptr;     // Null: the path knows no such method.
    std::string allow;              // The path's methods for Allow.
    std::vector<std::string> names; // The path's variable segments, decoded once.
};

[[nodiscard]] std::span<const route> routes() noexcept;

/// `path` is raw. Throws problem: unknown-path, or invalid-name for a segment that is no name.
[[nodiscard]] route_match find_route(std::string_view method, std::string_view path);

/// /healthz, /readyz and /metrics: they take any Host and Origin, and are answered beyond the limit
/// of connections.
[[nodiscard]] bool is_operation(std::string_view path) noexcept;

} // namespace streamld::api
