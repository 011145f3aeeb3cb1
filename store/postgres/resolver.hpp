#pragma once
// From a host name to the addresses to try, without blocking the loop: Asio asks on a thread of its
// own, and an answer that comes after the deadline is dropped.

#include "store/engine.hpp"
#include "store/postgres/dsn.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <vector>

namespace streamld::store::postgres {

/// The host once for each of its addresses. Numeric addresses, folders of Unix sockets and hosts
/// whose address the user gave come back as they are. Throws postgres_fault.
boost::asio::awaitable<std::vector<dsn::host>>
resolve(boost::asio::any_io_executor loop, dsn::host named, deadline_t deadline);

} // namespace streamld::store::postgres
