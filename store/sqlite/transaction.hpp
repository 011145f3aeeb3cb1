#pragma once
// The caller's side of a transaction: a tx_handle over a session.

#include "store/engine.hpp"
#include "store/sqlite/writer.hpp"

#include <functional>

namespace streamld::store::sqlite {

/// Begins, runs `work`, commits or rolls back. `books` outlives it.
[[nodiscard]] boost::asio::awaitable<void> run_transaction(
    writer& books, std::function<boost::asio::awaitable<void>(tx_handle&)> work, deadline_t deadline
);

} // namespace streamld::store::sqlite
