#include "store/sqlite/connection.hpp"

#include <sqlite3.h>

#include <algorithm>
#include <thread>

namespace streamld::store::sqlite {

namespace {

std::string detail_of(errc code) {
    switch (code) {
    case errc::busy:
        return "another program holds the write lock";
    case errc::full:
        return "no space is left for the store";
    case errc::corrupt:
        return "the store's file is damaged";
    case errc::foreign:
        return "the database file was replaced";
    case errc::too_large:
        return "the value is larger than the store can hold";
    default:
        return "the store's file cannot be read or written now";
    }
}

} // namespace

errc meaning_of(int result) noexcept {
    switch (result) {
    case SQLITE_READONLY_DBMOVED:
        return errc::foreign;
    case SQLITE_IOERR_SHMSIZE:
        return errc::full; // The shared-memory file could not grow.
    case SQLITE_IOERR_CORRUPTFS:
        return errc::corrupt;
    default:
        break;
    }
    switch (result & 0xFF) {
    case SQLITE_FULL:
        return errc::full;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return errc::corrupt;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return errc::busy;
    case SQLITE_TOOBIG:
        return errc::too_large;
    default:
        return errc::unavailable;
    }
}

statement::statement(connection& owner, std::string_view sql) : owner_(&owner) {
    const int size = static_cast<int>(sql.size());
    check(
        sqlite3_prepare_v3(owner.raw(), sql.data(), size, SQLITE_PREPARE_PERSISTENT, &raw_, nullptr)
    );
}

statement& statement::operator=(statement&& other) noexcept {
    std::swap(raw_, other.raw_);
    std::swap(owner_, other.owner_);
    return *this;
}

statement::~statement() {
    sqlite3_finalize(raw_);
}

void statement::check(int result) const {
    if (result != SQLITE_OK) owner_->fail(result);
}

statement& statement::bind(int index, std::int64_t value) {
    check(sqlite3_bind_int64(raw_, index, value));
    return *this;
}

statement& statement::bind(int index, double value) {
    check(sqlite3_bind_double(raw_, index, value));
    return *this;
}

statement& statement::bind_text(int index, std::string_view value) {
    check(sqlite3_bind_text64(raw_, index, value.data(), value.size(), SQLITE_STATIC, SQLITE_UTF8));
    return *this;
}

statement& statement::bind_blob(int index, std::string_view value) {
    check(sqlite3_bind_blob64(raw_, index, value.data(), value.size(), SQLITE_STATIC));
    return *this;
}

statement& statement::bind_null(int index) {
    check(sqlite3_bind_null(raw_, index));
    return *this;
}

bool statement::step() {
    const int result = sqlite3_step(raw_);
    if (result == SQLITE_ROW) return true;
    if (result == SQLITE_DONE) return false;
    sqlite3_reset(raw_);
    owner_->fail(result);
}

void statement::run() {
    const int result = sqlite3_step(raw_);
    sqlite3_reset(raw_);
    if (result != SQLITE_ROW && result != SQLITE_DONE) owner_->fail(result);
}

void statement::reset() noexcept {
    sqlite3_reset(raw_);
}

bool statement::is_null(int column) const noexcept {
    return sqlite3_column_type(raw_, column) == SQLITE_NULL;
}

std::int64_t statement::integer(int column) const noexcept {
    return sqlite3_column_int64(raw_, column);
}

double statement::real(int column) const noexcept {
    return sqlite3_column_double(raw_, column);
}

std::string_view statement::bytes(int column) const noexcept {
    // The order matters: the blob call settles the type, the size call then measures it.
    const auto* data = static_cast<const char*>(sqlite3_column_blob(raw_, column));
    const auto size = static_cast<std::size_t>(sqlite3_column_bytes(raw_, column));
    return data == nullptr ? std::string_view{} : std::string_view{data, size};
}

connection::connection(const std::string& path, patience how_long, bool may_create)
    : patience_(std::move(how_long)) {
    const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE |
                      SQLITE_OPEN_EXRESCODE | (may_create ? SQLITE_OPEN_CREATE : 0);
    const int result = sqlite3_open_v2(path.c_str(), &raw_, flags, nullptr);
    if (result != SQLITE_OK) {
        sqlite3_close_v2(raw_);
        throw storage_fault(meaning_of(result), detail_of(meaning_of(result)));
    }
    sqlite3_busy_handler(raw_, &connection::on_busy, this);
}

connection::~connection() {
    sqlite3_close_v2(raw_);
}

// SQLite's own waiting sleeps up to 100 ms at a time; a checkpoint or another gateway is done in
// far less.
int connection::on_busy(void* self, int tries) {
    auto& own = *static_cast<connection*>(self);
    const auto now = std::chrono::steady_clock::now();
    if (tries == 0) own.busy_since_ = now;
    if (now - own.busy_since_ >= own.patience_.busy_timeout) return 0;
    if (own.patience_.meanwhile) own.patience_.meanwhile();
    const auto pause = std::chrono::microseconds(std::min(100 + 50 * tries, 2'000));
    std::this_thread::sleep_for(pause);
    return 1;
}

void connection::execute(const char* sql) {
    const int result = sqlite3_exec(raw_, sql, nullptr, nullptr, nullptr);
    if (result != SQLITE_OK) fail(result);
}

std::int64_t connection::integer_of(std::string_view sql) {
    statement query(*this, sql);
    return query.step() ? query.integer(0) : 0;
}

std::string connection::text_of(std::string_view sql) {
    statement query(*this, sql);
    return query.step() ? std::string(query.bytes(0)) : std::string();
}

bool connection::is_in_transaction() const noexcept {
    return sqlite3_get_autocommit(raw_) == 0;
}

bool connection::roll_back() noexcept {
    if (!is_in_transaction()) return true;
    return sqlite3_exec(raw_, "ROLLBACK", nullptr, nullptr, nullptr) == SQLITE_OK;
}

void connection::fail(int result) const {
    const errc code = meaning_of(result);
    throw storage_fault(code, detail_of(code));
}

} // namespace streamld::store::sqlite
