#pragma once
// Everything that is read for callers: pages, starts, lists. Each function is one statement over a
// connection that is lent to it, so bounds and events are of one snapshot. The engine's loop;
// throws store::error. Arguments are owned by the coroutine.

#include "store/engine.hpp"
#include "store/postgres/connection.hpp"

#include <boost/asio/awaitable.hpp>

#include <optional>
#include <string>
#include <vector>

namespace streamld::store::postgres {

boost::asio::awaitable<event_page>
read_page(connection& db, read_request request, deadline_t deadline);

boost::asio::awaitable<std::optional<stream_info>>
read_info(connection& db, std::string stream, deadline_t deadline);

boost::asio::awaitable<position> locate_start(
    connection& db, std::string stream, start_point start, std::string key, deadline_t deadline
);

boost::asio::awaitable<std::vector<stream_info>> list_streams(
    connection& db, std::string prefix, std::string after, std::size_t limit, deadline_t deadline
);

boost::asio::awaitable<offset_t>
read_saved_offset(connection& db, std::string stream, std::string consumer, deadline_t deadline);

boost::asio::awaitable<std::vector<consumer_offset>>
list_consumers(connection& db, std::string stream, deadline_t deadline);

/// Columns epoch, head, horizon, created_at, last_event_at from `first` on.
void fill_info(stream_info& info, const result& rows, int row, int first);

[[nodiscard]] error unknown_stream();

} // namespace streamld::store::postgres
