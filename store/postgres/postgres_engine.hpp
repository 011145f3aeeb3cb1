#pragma once
// The Postgres engine: checks requests on the caller's thread, then works on a loop and thread of
// its own, where libpq never blocks.

#include "store/engine.hpp"
#include "store/open_store.hpp"

#include <memory>
#include <string>

namespace streamld::store::postgres {

/// What is wrong with the URL, in libpq's words; empty: nothing.
[[nodiscard]] std::string fault_of_url(const std::string& url);

[[nodiscard]] std::unique_ptr<engine>
open_postgres_engine(const std::string& url, const open_options& options, store_observer* observer);

} // namespace streamld::store::postgres
