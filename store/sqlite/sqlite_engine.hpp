#pragma once
// The SQLite engine: checks requests on the caller's thread, then hands them to the writer or a
// reader thread.

#include "store/engine.hpp"
#include "store/open_store.hpp"

#include <memory>
#include <string>

namespace streamld::store::sqlite {

[[nodiscard]] std::unique_ptr<engine>
open_sqlite_engine(const std::string& path, const open_options& options, store_observer* observer);

} // namespace streamld::store::sqlite
