#pragma once
// The schema files of store/postgres/schema, built into the program in the order of their numbers,
// and roles.sql beside them.

#include <span>
#include <string_view>

namespace streamld::store::postgres {

struct migration {
    int version;
    std::string_view sql;
};

/// Versions 1, 2, 3, ... Defined by a source that the build generates.
[[nodiscard]] std::span<const migration> migrations();

/// The roles and their rights; fits the newest version. Defined beside migrations().
[[nodiscard]] std::string_view roles();

} // namespace streamld::store::postgres
