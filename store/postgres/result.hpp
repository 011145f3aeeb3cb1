#pragma once
// The answer to one statement: rows in the binary format (or text, where the query asked for it).
// Movable; views are valid as long as the result lives. The caller knows the columns' types.

#include "store/postgres/query.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

struct pg_result;

namespace streamld::store::postgres {

class result {
public:
    result() = default;
    explicit result(pg_result* raw) noexcept; // Takes ownership.

    [[nodiscard]] int rows() const noexcept;
    [[nodiscard]] int columns() const noexcept;
    [[nodiscard]] bool is_null(int row, int column) const noexcept;
    [[nodiscard]] type_oid type(int column) const noexcept;

    [[nodiscard]] std::string_view bytes(int row, int column) const noexcept;
    [[nodiscard]] std::string text(int row, int column) const;
    [[nodiscard]] std::int64_t integer(int row, int column) const noexcept; // int2, int4 or int8.
    [[nodiscard]] bool boolean(int row, int column) const noexcept;

    /// Rows that the statement changed (the number in its command tag).
    [[nodiscard]] std::int64_t affected() const noexcept;

private:
    struct clear {
        void operator()(pg_result* raw) const noexcept;
    };

    std::unique_ptr<pg_result, clear> raw_;
};

} // namespace streamld::store::postgres
