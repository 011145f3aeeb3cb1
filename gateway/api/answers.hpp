#pragma once
// What the handlers' answers have in common. On the session's coroutine.

#include "api/exchange.hpp"
#include "net/response.hpp"
#include "store/engine.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace streamld::api {

/// application/json with the link to the context, and no caching.
[[nodiscard]] net::response json_answer(int status);

/// `{"stream","epoch","head","oldestAvailable"?,"count","createdAt","lastEventAt"?}`
void append_stream(std::string& out, const store::stream_info& info);

/// That object as an answer, with the stream's ETag and the links of section 7.
[[nodiscard]] net::response
stream_answer(const exchange& request, int status, const store::stream_info& info);

/// All Accept headers as one list.
[[nodiscard]] std::string accept_of(const net::request& request);

/// A header that may stand once. Throws problem.
[[nodiscard]] std::optional<std::string_view>
single_header(const exchange& request, std::string_view name);

/// The request's body, at most `bytes_max`. Throws problem, before anything is read where the
/// length is announced.
boost::asio::awaitable<std::string> take_body(exchange& request, std::size_t bytes_max);

/// The stream, or problem unknown-stream.
boost::asio::awaitable<store::stream_info> require_stream(exchange& request, std::string stream);

} // namespace streamld::api
