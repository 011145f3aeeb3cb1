#include "store/postgres/result.hpp"

#include <boost/assert.hpp>

#include <libpq-fe.h>

#include <charconv>

namespace streamld::store::postgres {

result::result(pg_result* raw) noexcept : raw_(raw) {}

void result::clear::operator()(pg_result* raw) const noexcept {
    PQclear(raw);
}

int result::rows() const noexcept {
    return PQntuples(raw_.get());
}

int result::columns() const noexcept {
    return PQnfields(raw_.get());
}

bool result::is_null(int row, int column) const noexcept {
    return PQgetisnull(raw_.get(), row, column) != 0;
}

type_oid result::type(int column) const noexcept {
    return static_cast<type_oid>(PQftype(raw_.get(), column));
}

std::string_view result::bytes(int row, int column) const noexcept {
    BOOST_ASSERT(row < rows() && column < columns());
    return {
        PQgetvalue(raw_.get(), row, column),
        static_cast<std::size_t>(PQgetlength(raw_.get(), row, column))};
}

std::string result::text(int row, int column) const {
    return std::string(bytes(row, column));
}

std::int64_t result::integer(int row, int column) const noexcept {
    BOOST_ASSERT(PQfformat(raw_.get(), column) == 1);
    const std::string_view wire = bytes(row, column);
    if (wire.empty()) return 0; // NULL.
    // Big-endian; the first bit is the sign.
    std::uint64_t number = (wire.front() & 0x80) != 0 ? ~std::uint64_t{0} : 0;
    for (const char byte : wire)
        number = number << 8 | static_cast<unsigned char>(byte);
    return static_cast<std::int64_t>(number);
}

bool result::boolean(int row, int column) const noexcept {
    return integer(row, column) != 0;
}

std::int64_t result::affected() const noexcept {
    if (!raw_) return 0;
    const std::string_view number = PQcmdTuples(raw_.get());
    std::int64_t count = 0;
    std::from_chars(number.data(), number.data() + number.size(), count);
    return count;
}

} // namespace streamld::store::postgres
