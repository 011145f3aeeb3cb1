#include "store/postgres/fault.hpp"

#include <boost/test/unit_test.hpp>

#include <string>
#include <utility>
#include <vector>

using streamld::store::errc;
using streamld::store::postgres::code_of;
using streamld::store::postgres::postgres_fault;

BOOST_AUTO_TEST_SUITE(store_postgres_fault)

BOOST_AUTO_TEST_CASE(every_sqlstate_has_a_meaning) {
    const std::vector<std::pair<std::string, errc>> table{
        {"53100", errc::full},
        {"53200", errc::unavailable},
        {"53300", errc::unavailable},
        {"57P01", errc::unavailable},
        {"57P03", errc::unavailable},
        {"08006", errc::unavailable},
        {"25006", errc::unavailable},
        {"57014", errc::unavailable},
        {"58030", errc::unavailable},
        {"55P03", errc::busy},
        {"40001", errc::busy},
        {"40P01", errc::busy},
        {"XX001", errc::corrupt},
        {"XX002", errc::corrupt},
        {"XX000", errc::unavailable},
        {"42P01", errc::foreign},
        {"3F000", errc::foreign},
        {"42883", errc::foreign},
        {"22021", errc::invalid_payload},
        {"22P05", errc::invalid_payload},
        {"23505", errc::unavailable},
        {"28P01", errc::unavailable},
        {"", errc::unavailable},
    };

    for (const auto& [sqlstate, expected] : table)
        BOOST_TEST((code_of(sqlstate) == expected), sqlstate);
}

BOOST_AUTO_TEST_CASE(connection_ends_with_its_server_or_its_role) {
    const auto ends = [](const std::string& sqlstate) {
        return postgres_fault(code_of(sqlstate), "", sqlstate, "").ends_connection();
    };

    for (const char* sqlstate : {"", "57P01", "57P02", "57P03", "25006", "08006", "25P03"})
        BOOST_TEST(ends(sqlstate), sqlstate);
    for (const char* sqlstate : {"57014", "55P03", "53100", "22012", "42P01"})
        BOOST_TEST(!ends(sqlstate), sqlstate);
}

BOOST_AUTO_TEST_SUITE_END()
