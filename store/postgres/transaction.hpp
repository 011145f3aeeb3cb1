#pragma once
// A transaction of the caller's own rows with events, step by step, on a connection lent to it
// until its end or its deadline. The steps run on the engine's loop, the caller's coroutine where
// it is.

#include "store/engine.hpp"
#include "store/postgres/engine_loop.hpp"
#include "store/postgres/group_commit.hpp"
#include "store/postgres/pool.hpp"

#include <boost/asio/awaitable.hpp>

#include <functional>
#include <memory>
#include <set>

namespace streamld::store::postgres {

class open_transaction;

/// Those that are open. The engine's loop; outlives them.
class transactions {
public:
    transactions(engine_loop& loop, pool& from, group_commit::actions what)
        : loop_(loop), pool_(from), actions_(std::move(what)) {}

    /// Commits when `work` returns, rolls back when it throws or the deadline passes. Any thread.
    boost::asio::awaitable<void>
    run(std::function<boost::asio::awaitable<void>(tx_handle&)> work, deadline_t deadline);

    /// Rolls back all of them.
    void close() noexcept;

private:
    friend class open_transaction;

    engine_loop& loop_;
    pool& pool_;
    group_commit::actions actions_;
    std::set<open_transaction*> open_;
};

} // namespace streamld::store::postgres
