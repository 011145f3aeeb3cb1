#pragma once
// Makes a connection with libpq's non-blocking functions, trying each address of each host in turn
// with its share of the time: in this mode libpq has no time limit of its own, so one dead host
// would hide the others.

#include "store/engine.hpp"
#include "store/postgres/dsn.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <memory>

struct pg_conn;

namespace streamld::store::postgres {

struct finish_connection {
    void operator()(pg_conn* raw) const noexcept;
};

using raw_connection = std::unique_ptr<pg_conn, finish_connection>;

/// Throws postgres_fault of the last address tried. `where` outlives the call.
boost::asio::awaitable<raw_connection>
connect(boost::asio::any_io_executor loop, const dsn& where, deadline_t deadline);

} // namespace streamld::store::postgres
