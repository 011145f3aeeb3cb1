#pragma once
// One HTTP connection from its first request to its end: read a head, guard, find the row, let it
// answer, go on. The one place where a request's errors end. Runs in the shard's nursery; single
// thread.

#include "api/exchange.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>

namespace streamld::api {

/// `shard` and `context` outlive every session of the shard.
boost::asio::awaitable<void> run_session(
    boost::asio::ip::tcp::socket socket, services& shard, const net::connection_context& context
);

} // namespace streamld::api
