// Which statements a caller's transaction refuses, and whose fault a failure is.

#include "store/postgres/callers_statement.hpp"

#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

using streamld::store::errc;
using streamld::store::error;
using streamld::store::tx_handle;
using streamld::store::postgres::callers_fault;
using streamld::store::postgres::callers_query;
using streamld::store::postgres::postgres_fault;
using values = std::vector<tx_handle::sql_value>;

namespace {

bool is_refused(const std::string& sql) {
    try {
        (void)callers_query(sql, values());
        return false;
    } catch (const error& fault) {
        return fault.which() == errc::statement;
    }
}

} // namespace

BOOST_AUTO_TEST_SUITE(store_postgres_callers_statement)

BOOST_AUTO_TEST_CASE(ends_of_the_transaction_are_refused_however_they_are_written) {
    for (const char* sql :
         {"COMMIT",
          "commit;",
          "  Rollback",
          "-- a comment\nEND",
          "/* a /* nested */ one */ABORT",
          ";BEGIN",
          "start transaction",
          "SAVEPOINT s",
          "RELEASE s",
          "PREPARE TRANSACTION 'x'",
          "",
          " ; ",
          "-- only a comment",
          "/* open"})
        BOOST_TEST(is_refused(sql), sql);
}

BOOST_AUTO_TEST_CASE(other_statements_pass) {
    for (const char* sql :
         {"SELECT 1",
          "INSERT INTO t VALUES ($1)",
          "/* x */ UPDATE t SET a = 1",
          "WITH a AS (SELECT 1) SELECT 2",
          "committed",
          "-- COMMIT\nSELECT 1"})
        BOOST_TEST(!is_refused(sql), sql);
}

BOOST_AUTO_TEST_CASE(text_with_a_nul_byte_is_refused_not_cut) {
    values one;
    one.emplace_back(std::string("a\0b", 3));
    BOOST_CHECK_EXCEPTION((void)callers_query("SELECT $1", one), error, [](const error& fault) {
        return fault.which() == errc::statement;
    });
}

BOOST_AUTO_TEST_CASE(faults_of_the_text_are_the_callers_and_the_rest_the_storages) {
    const auto meaning = [](const char* state) {
        return callers_fault(postgres_fault(errc::unavailable, "detail", state, "words")).which();
    };
    for (const char* state : {"42601", "42P01", "23505", "22012", "P0001", "0A000"})
        BOOST_TEST((meaning(state) == errc::statement), state);
    for (const char* state :
         {"", "40001", "53100", "55P03", "57P01", "58030", "08006", "XX001", "25006"})
        BOOST_TEST((meaning(state) == errc::unavailable), state);
}

BOOST_AUTO_TEST_SUITE_END()
