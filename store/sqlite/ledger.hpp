#pragma once
// The writer's connection and what it knows: the rows of streams, the prepared statements, the open
// transaction. Every rule of writing is here once, and both group commits and the caller's
// transactions go through it. One thread.
//
// Rows of streams are kept from one transaction to the next as long as nobody else committed
// (PRAGMA data_version, asked under the write lock), and written back once per transaction.

#include "store/engine.hpp"
#include "store/sqlite/database_file.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace streamld::store::sqlite {

/// What an append needs that can be worked out before the writer's turn.
struct checked_append {
    append_request request;
    std::string fingerprint; // Empty without an idempotency key.
};

struct purge {
    std::int64_t stream_id = 0;
    offset_t horizon = 0;
};

class ledger {
public:
    ledger(const database_settings& settings, patience how_long);
    ledger(const ledger&) = delete;
    ledger& operator=(const ledger&) = delete;
    ~ledger();

    // ---- The transaction. begin() and commit() throw storage_fault; afterwards call roll_back().

    /// BEGIN IMMEDIATE. True if somebody else committed since the last time.
    bool begin();
    void commit();

    [[nodiscard]] bool is_in_transaction() const noexcept { return db_->is_in_transaction(); }

    /// False if the connection is of no further use.
    bool roll_back() noexcept;

    // ---- Inside one. Each checks before it changes anything: store::error leaves the transaction
    // as it was.

    append_outcome append(const checked_append& publish);
    engine::created create(const std::string& stream);
    save_outcome
    save_offset(const std::string& stream, const std::string& consumer, offset_t offset);
    void forget_consumer(const std::string& stream, const std::string& consumer);
    trim_outcome trim(const trim_request& request);
    void touch_probe();

    /// The caller's own statement.
    std::vector<tx_handle::sql_row>
    execute(const std::string& sql, const std::vector<tx_handle::sql_value>& parameters);

    /// Deletes the next piece of a trim. True when nothing is left.
    bool delete_piece(const purge& what);
    [[nodiscard]] std::vector<purge> unfinished_trims();

    // ---- What the last transaction did; valid until the next begin().

    [[nodiscard]] const std::vector<store_observer::committed_append>& appends() const noexcept {
        return appends_;
    }

    [[nodiscard]] const std::vector<purge>& purges() const noexcept { return purges_; }

    /// The number this transaction gave to the streams it changed; absent if there were none, or
    /// others besides.
    [[nodiscard]] std::optional<std::int64_t> change() const noexcept;

    /// True if the last commit put something into the file.
    [[nodiscard]] bool has_written() const noexcept { return has_written_; }

    /// Pages in the -wal after the last commit.
    [[nodiscard]] int wal_pages() const noexcept { return wal_pages_; }

private:
    struct row {
        std::int64_t id = 0;
        std::string name;
        std::string epoch;
        offset_t head = 0;
        offset_t horizon = 0;
        std::int64_t created_at = 0;
        std::optional<std::int64_t> last_event_at;
        bool has_new_head = false;
        bool has_new_horizon = false;
    };

    struct prepared;

    static int on_wal(void* self, sqlite3* db, const char* name, int pages);

    row* find(const std::string& stream);
    row& obtain(const std::string& stream);
    row& known(const std::string& stream); // Throws errc::unknown_stream.
    [[nodiscard]] static stream_info info_of(const row& from);
    std::optional<append_outcome> replayed(const row* stream, const checked_append& publish);
    void insert_events(const row& stream, const append_request& request);
    void
    save_token(const row& stream, const checked_append& publish, const append_outcome& outcome);
    void write_back();
    void forget_rows() noexcept;
    void forget_callers_writes() noexcept;
    std::vector<consumer_offset> consumers_below(const row& stream, offset_t horizon);
    void mark(row& stream);

    std::unique_ptr<connection> db_;
    std::unique_ptr<prepared> sql_;
    std::unordered_map<std::string, row> rows_;
    std::vector<std::unordered_map<std::string, row>> retired_; // Keeps what appends_ views.
    std::vector<row*> dirty_;
    std::vector<store_observer::committed_append> appends_;
    std::vector<purge> purges_;
    std::int64_t now_ = 0;
    std::int64_t data_version_ = -1;
    std::int64_t newest_change_ = -1; // -1: not read yet.
    bool has_change_ = false;
    bool has_foreign_change_ = false; // The caller's own SQL may have published, too.
    bool has_written_ = false;
    int wal_pages_ = 0;
};

} // namespace streamld::store::sqlite
