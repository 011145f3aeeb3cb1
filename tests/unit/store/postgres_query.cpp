#include "store/errors.hpp"
#include "store/postgres/query.hpp"
#include "support/postgres_server.hpp"
#include "unit/store/postgres_session.hpp"

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

using streamld::store::postgres::answer_format;
using streamld::store::postgres::array_builder;
using streamld::store::postgres::query;
using streamld::store::postgres::result;
using streamld::store::postgres::type_oid;
using streamld::tests::postgres_session;
using std::string_view_literals::operator""sv;

namespace {

/// The members of the array as the server sees them, in order.
result members(postgres_session& session, array_builder values, const std::string& type) {
    query what(
        "SELECT member FROM unnest($1::" + type +
        ") WITH ORDINALITY AS list (member, place) ORDER BY place"
    );
    what.array(std::move(values));
    return session.ask(std::move(what));
}

} // namespace

BOOST_AUTO_TEST_SUITE(store_postgres_query)

BOOST_AUTO_TEST_CASE(scalars_come_back_as_they_were_sent) {
    postgres_session session;
    query what("SELECT $1, $2, $3, $4, $5, $6");
    what.text("gr\xC3\xBC\xC3\x9F dich").bytes("a\0b\xFF"sv).boolean(true);
    what.integer(std::numeric_limits<std::int64_t>::min());
    what.small(std::numeric_limits<std::int32_t>::min()).null(type_oid::text);

    const result row = session.ask(std::move(what));

    BOOST_TEST(row.rows() == 1);
    BOOST_TEST(row.columns() == 6);
    BOOST_TEST(row.text(0, 0) == "gr\xC3\xBC\xC3\x9F dich");
    BOOST_TEST(row.bytes(0, 1) == "a\0b\xFF"sv);
    BOOST_TEST(row.boolean(0, 2));
    BOOST_TEST(row.integer(0, 3) == std::numeric_limits<std::int64_t>::min());
    BOOST_TEST(row.integer(0, 4) == std::numeric_limits<std::int32_t>::min());
    BOOST_TEST(row.is_null(0, 5));
    BOOST_TEST((row.type(0) == type_oid::text));
    BOOST_TEST((row.type(1) == type_oid::bytes));
    BOOST_TEST((row.type(3) == type_oid::int8));
}

BOOST_AUTO_TEST_CASE(empty_text_and_empty_bytes_are_not_null) {
    postgres_session session;
    query what("SELECT $1 = '', $2 = ''::bytea");
    what.text("").bytes("");

    const result row = session.ask(std::move(what));

    BOOST_TEST(row.boolean(0, 0));
    BOOST_TEST(row.boolean(0, 1));
}

BOOST_AUTO_TEST_CASE(integers_of_every_width_are_read) {
    postgres_session session;

    const result row = session.ask(query("SELECT -2::int2, -70000::int4, 5000000000::int8, false"));

    BOOST_TEST(row.integer(0, 0) == -2);
    BOOST_TEST(row.integer(0, 1) == -70000);
    BOOST_TEST(row.integer(0, 2) == 5000000000);
    BOOST_TEST(!row.boolean(0, 3));
}

BOOST_AUTO_TEST_CASE(arrays_of_bytes_keep_nulls_and_nul_bytes) {
    postgres_session session;
    array_builder values(type_oid::bytes);
    values.add("\0\0"sv);
    values.add_null();
    values.add(""sv);
    values.add("\xFF\x00\x7F"sv);

    const result rows = members(session, std::move(values), "bytea[]");

    BOOST_TEST_REQUIRE(rows.rows() == 4);
    BOOST_TEST(rows.bytes(0, 0) == "\0\0"sv);
    BOOST_TEST(rows.is_null(1, 0));
    BOOST_TEST(!rows.is_null(2, 0));
    BOOST_TEST(rows.bytes(2, 0) == ""sv);
    BOOST_TEST(rows.bytes(3, 0) == "\xFF\x00\x7F"sv);
}

BOOST_AUTO_TEST_CASE(arrays_of_text_need_no_quoting) {
    postgres_session session;
    array_builder values(type_oid::text);
    values.add("a,b{}\"\\"sv);
    values.add_null();
    values.add("NULL"sv);

    const result rows = members(session, std::move(values), "text[]");

    BOOST_TEST_REQUIRE(rows.rows() == 3);
    BOOST_TEST(rows.text(0, 0) == "a,b{}\"\\");
    BOOST_TEST(rows.is_null(1, 0));
    BOOST_TEST(rows.text(2, 0) == "NULL");
}

BOOST_AUTO_TEST_CASE(arrays_of_numbers_and_flags_arrive) {
    postgres_session session;
    array_builder large(type_oid::int8);
    large.add(std::numeric_limits<std::int64_t>::max());
    large.add_null();
    array_builder small(type_oid::int4);
    small.add(std::int32_t{-1});
    array_builder flags(type_oid::boolean);
    flags.add(false);
    flags.add(true);
    flags.add_null();

    const result larges = members(session, std::move(large), "int8[]");
    const result smalls = members(session, std::move(small), "int4[]");
    const result booleans = members(session, std::move(flags), "boolean[]");

    BOOST_TEST(larges.integer(0, 0) == std::numeric_limits<std::int64_t>::max());
    BOOST_TEST(larges.is_null(1, 0));
    BOOST_TEST(smalls.integer(0, 0) == -1);
    BOOST_TEST(!booleans.boolean(0, 0));
    BOOST_TEST(booleans.boolean(1, 0));
    BOOST_TEST(booleans.is_null(2, 0));
}

BOOST_AUTO_TEST_CASE(empty_array_is_empty_and_not_null) {
    postgres_session session;
    query what("SELECT cardinality($1), $1 = '{}'");
    what.array(array_builder(type_oid::text));

    const result row = session.ask(std::move(what));

    BOOST_TEST(row.integer(0, 0) == 0);
    BOOST_TEST(row.boolean(0, 1));
}

BOOST_AUTO_TEST_CASE(server_decides_the_type_of_inferred_parameters) {
    postgres_session session;
    query what("SELECT $1::numeric + $2, $3::jsonb ->> 'a', $4::text", answer_format::text);
    what.inferred("1.50").inferred("2").inferred(R"({"a":"b"})").null(type_oid::inferred);

    const result row = session.ask(std::move(what));

    BOOST_TEST(row.text(0, 0) == "3.50");
    BOOST_TEST(row.text(0, 1) == "b");
    BOOST_TEST(row.is_null(0, 2));
}

BOOST_AUTO_TEST_CASE(nul_byte_never_cuts_a_statement_or_a_text) {
    query what("SELECT $1");

    BOOST_CHECK_THROW(query(std::string("SELECT 1\0; DROP"sv)), streamld::store::error);
    BOOST_CHECK_THROW(what.inferred("a\0b"sv), streamld::store::error);
}

BOOST_AUTO_TEST_CASE(changed_rows_are_counted) {
    postgres_session session;
    session.ask(query("CREATE TABLE t (n int)"));

    const result written = session.ask(query("INSERT INTO t SELECT generate_series(1, 7)"));
    const result empty = session.ask(query(""));

    BOOST_TEST(written.affected() == 7);
    BOOST_TEST(empty.affected() == 0);
    BOOST_TEST(result().rows() == 0);
}

BOOST_AUTO_TEST_SUITE_END()
