#pragma once
// The schema files of store/sqlite/schema, built into the program in the order of their numbers.

#include <span>
#include <string_view>

namespace streamld::store::sqlite {

struct migration {
    int version;
    std::string_view sql;
};

/// Versions 1, 2, 3, ... Defined by a source that the build generates.
[[nodiscard]] std::span<const migration> migrations();

} // namespace streamld::store::sqlite
