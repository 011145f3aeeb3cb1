#pragma once
// The one way in: prepare_database() checks that a database is fit and brings its schema up to
// date. Blocking, on connections of its own; runs once before any loop. And the same as a script
// for those who let nobody else change their schemas.

#include "store/postgres/dsn.hpp"

#include <chrono>
#include <string>

namespace streamld::store::postgres {

/// Connects (again and again until `patience` is over while nobody answers or the server is
/// starting), checks version and encoding, migrates where the schema is absent or older. A schema
/// that is up to date is not written to. Throws store::error with a detail for the operator.
void prepare_database(const dsn& where, std::chrono::milliseconds patience);

/// What prepare_database() does to an empty database, and the roles where they are wanted: for
/// psql, in one transaction.
[[nodiscard]] std::string schema_script(bool with_roles);

} // namespace streamld::store::postgres
