#pragma once
// A statement of the caller's own inside a transaction: which are refused, how values travel, and
// whose fault it is when one fails. Pure.

#include "store/engine.hpp"
#include "store/postgres/fault.hpp"
#include "store/postgres/query.hpp"
#include "store/postgres/result.hpp"

#include <string>
#include <vector>

namespace streamld::store::postgres {

/// Throws errc::statement for one that would end the transaction or is none.
[[nodiscard]] query
callers_query(const std::string& sql, const std::vector<tx_handle::sql_value>& parameters);

/// Integers and truth values as integers, floating-point and fractional numbers as doubles, bytea
/// as its bytes, anything else as Postgres writes it.
[[nodiscard]] std::vector<tx_handle::sql_row> callers_rows(const result& rows);

/// errc::statement with the database's words where it is about the caller's text; else the fault.
[[nodiscard]] error callers_fault(const postgres_fault& fault);

} // namespace streamld::store::postgres
