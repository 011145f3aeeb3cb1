#pragma once
// Runs a statement that the store did not write: one at a time, inside the open transaction, whose
// ends stay ours.

#include "store/engine.hpp"
#include "store/sqlite/connection.hpp"

#include <string>
#include <vector>

namespace streamld::store::sqlite {

struct callers_result {
    std::vector<tx_handle::sql_row> rows;
    bool may_have_written = false;
};

/// Throws errc::statement for what is the caller's fault, storage_fault for what is not.
[[nodiscard]] callers_result run_callers_statement(
    connection& db, const std::string& sql, const std::vector<tx_handle::sql_value>& parameters
);

} // namespace streamld::store::sqlite
