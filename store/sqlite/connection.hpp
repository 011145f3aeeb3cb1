#pragma once
// One SQLite connection and its statements, with every failure turned into store::error. A
// connection belongs to one thread at a time. Nothing here opens, maps or locks a file but SQLite
// itself.

#include "store/errors.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

struct sqlite3;
struct sqlite3_stmt;

namespace streamld::store::sqlite {

/// What SQLite's result code means to the store's callers.
[[nodiscard]] errc meaning_of(int result) noexcept;

/// SQLite itself failed, as opposed to a check of ours: whatever transaction was open is over.
class storage_fault : public error {
public:
    using error::error;
};

class connection;

/// A prepared statement. Texts and blobs are bound without a copy, so they must outlive the run.
class statement {
public:
    statement() = default;
    statement(connection& owner, std::string_view sql);

    statement(statement&& other) noexcept
        : raw_(std::exchange(other.raw_, nullptr)), owner_(other.owner_) {}

    statement& operator=(statement&& other) noexcept;
    ~statement();

    statement& bind(int index, std::int64_t value);
    statement& bind(int index, double value);
    statement& bind_text(int index, std::string_view value);
    statement& bind_blob(int index, std::string_view value);
    statement& bind_null(int index);

    /// True while there is a row.
    bool step();

    /// Steps to the end and resets.
    void run();

    /// Gives up the row and the locks a row holds; bindings stay until they are bound anew.
    void reset() noexcept;

    [[nodiscard]] bool is_null(int column) const noexcept;
    [[nodiscard]] std::int64_t integer(int column) const noexcept;
    [[nodiscard]] double real(int column) const noexcept;

    /// The bytes of a text or blob; valid until the next step.
    [[nodiscard]] std::string_view bytes(int column) const noexcept;

    [[nodiscard]] sqlite3_stmt* raw() const noexcept { return raw_; }

private:
    void check(int result) const;

    sqlite3_stmt* raw_ = nullptr;
    connection* owner_ = nullptr;
};

/// Resets a statement at the end of a scope, so that no row stays open and no lock with it.
class row_scope {
public:
    explicit row_scope(statement& of) noexcept : of_(&of) {}

    row_scope(const row_scope&) = delete;
    row_scope& operator=(const row_scope&) = delete;

    ~row_scope() { of_->reset(); }

private:
    statement* of_;
};

/// How a connection waits for a lock that another connection holds.
struct patience {
    std::chrono::milliseconds busy_timeout{10'000};
    std::function<void()>
        meanwhile; // Called between tries, a few times a second at least; may be empty.
};

class connection {
public:
    connection(const std::string& path, patience how_long, bool may_create);
    connection(const connection&) = delete;
    connection& operator=(const connection&) = delete;
    ~connection();

    void execute(const char* sql);
    [[nodiscard]] std::int64_t integer_of(std::string_view sql);
    [[nodiscard]] std::string text_of(std::string_view sql);

    [[nodiscard]] bool is_in_transaction() const noexcept;

    /// Rolls back what is open. False where even that failed: then the connection must be replaced.
    bool roll_back() noexcept;

    /// How long BEGIN and COMMIT wait for others from now on.
    void be_patient(std::chrono::milliseconds busy_timeout) noexcept {
        patience_.busy_timeout = busy_timeout;
    }

    [[noreturn]] void fail(int result) const;

    [[nodiscard]] sqlite3* raw() const noexcept { return raw_; }

private:
    static int on_busy(void* self, int tries);

    sqlite3* raw_ = nullptr;
    patience patience_;
    std::chrono::steady_clock::time_point busy_since_;
};

} // namespace streamld::store::sqlite
