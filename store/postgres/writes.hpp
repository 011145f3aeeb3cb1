#pragma once
// Writes beside publishing, one statement each: their calls and what the answers mean. The engine's
// loop; throws store::error.

#include "store/engine.hpp"
#include "store/postgres/connection.hpp"
#include "store/postgres/sweeper.hpp"

#include <boost/asio/awaitable.hpp>

#include <string>

namespace streamld::store::postgres {

[[nodiscard]] query
save_offset_query(const std::string& stream, const std::string& consumer, offset_t offset);
[[nodiscard]] save_outcome save_outcome_of(const result& rows);

boost::asio::awaitable<engine::created>
create_stream(connection& db, std::string stream, deadline_t deadline);

boost::asio::awaitable<save_outcome> save_offset(
    connection& db, std::string stream, std::string consumer, offset_t offset, deadline_t deadline
);

boost::asio::awaitable<nothing>
forget_consumer(connection& db, std::string stream, std::string consumer, deadline_t deadline);

/// Moves the horizon; the rows behind it are the sweeper's.
boost::asio::awaitable<trim_outcome>
trim(connection& db, sweeper& rows, trim_request request, deadline_t deadline);

/// Throws unless a write succeeds.
boost::asio::awaitable<nothing> touch_probe(connection& db, deadline_t deadline);

} // namespace streamld::store::postgres
