#include "store/postgres/sweeper.hpp"

#include "store/postgres/queries.hpp"

namespace streamld::store::postgres {

namespace {

using clock = std::chrono::steady_clock;

constexpr std::int64_t piece = 2000; // Rows deleted in one transaction.
constexpr std::chrono::seconds patience{30};
constexpr std::chrono::seconds pause_after_fault{5};

} // namespace

sweeper::sweeper(engine_loop& loop, pool& background)
    : loop_(loop), background_(background), changed_(loop.executor()) {}

void sweeper::start() {
    loop_.spawn(serve());
}

void sweeper::add(std::int64_t stream_id, offset_t horizon) {
    trimmed& added = left_.emplace_back();
    added.stream_id = stream_id;
    added.horizon = horizon;
    changed_.notify();
}

void sweeper::close() noexcept {
    is_closing_ = true;
    changed_.notify();
}

boost::asio::awaitable<void> sweeper::serve() {
    while (!is_closing_) {
        bool has_failed = false;
        try {
            if (!has_looked_) co_await find_unfinished();
            if (!left_.empty()) {
                const trimmed next = left_.front();
                const bool is_done = co_await delete_piece(next);
                if (is_done) left_.pop_front();
            }
        } catch (const error&) {
            has_failed = true; // Whether writes work is for others to tell; the rows can wait.
        }
        if (is_closing_) co_return;
        if (has_failed) {
            co_await changed_.wait(clock::now() + pause_after_fault);
        } else if (left_.empty()) {
            co_await changed_.wait(deadline_t::max());
        }
    }
}

boost::asio::awaitable<void> sweeper::find_unfinished() {
    const auto until = clock::now() + patience;
    lease db = co_await background_.acquire(until);
    query what(queries::unfinished_trims);
    const result rows = co_await ask(*db, std::move(what), until);
    for (int row = 0; row < rows.rows(); ++row)
        add(rows.integer(row, 0), rows.integer(row, 1));
    has_looked_ = true;
}

/// True when nothing is left.
boost::asio::awaitable<bool> sweeper::delete_piece(trimmed what) {
    const auto until = clock::now() + patience;
    lease db = co_await background_.acquire(until);
    query events(queries::delete_events);
    events.integer(what.stream_id).integer(what.horizon).integer(piece);
    const result gone = co_await ask(*db, std::move(events), until);
    if (gone.affected() > 0) co_return false;
    query tokens(queries::delete_tokens);
    tokens.integer(what.stream_id).integer(what.horizon).integer(piece);
    const result forgotten = co_await ask(*db, std::move(tokens), until);
    co_return forgotten.affected() < piece;
}

} // namespace streamld::store::postgres
