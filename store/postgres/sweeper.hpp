#pragma once
// Deletes the rows of trimmed events, which the horizon hides already, in short transactions; at
// the start also those that an earlier run has left. The engine's loop.

#include "store/postgres/engine_loop.hpp"
#include "store/postgres/pool.hpp"

#include <deque>

namespace streamld::store::postgres {

class sweeper {
public:
    sweeper(engine_loop& loop, pool& background);

    void start();
    void add(std::int64_t stream_id, offset_t horizon);
    void close() noexcept;

private:
    struct trimmed {
        std::int64_t stream_id = 0;
        offset_t horizon = 0;
    };

    boost::asio::awaitable<void> serve();
    boost::asio::awaitable<void> find_unfinished();
    boost::asio::awaitable<bool> delete_piece(trimmed what);

    engine_loop& loop_;
    pool& background_;
    std::deque<trimmed> left_;
    signal changed_;
    bool has_looked_ = false;
    bool is_closing_ = false;
};

} // namespace streamld::store::postgres
