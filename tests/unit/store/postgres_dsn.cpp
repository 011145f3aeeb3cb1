#include "store/errors.hpp"
#include "store/postgres/dsn.hpp"

#include <boost/test/unit_test.hpp>

#include <cstdlib>
#include <string>
#include <utility>

using streamld::store::errc;
using streamld::store::error;
using streamld::store::postgres::dsn;

namespace {

/// The reason for which the URL is refused; empty if it is not.
std::string refusal_of(const std::string& url) {
    try {
        static_cast<void>(dsn::parse(url));
    } catch (const error& refused) {
        BOOST_TEST((refused.which() == errc::foreign));
        return refused.detail();
    }
    return {};
}

class environment_variable {
public:
    environment_variable(const char* name, const char* value) : name_(name) {
        ::setenv(name, value, 1);
    }

    environment_variable(const environment_variable&) = delete;
    environment_variable& operator=(const environment_variable&) = delete;

    ~environment_variable() { ::unsetenv(name_); }

private:
    const char* name_;
};

/// Whatever is set on this desk.
struct bare_environment {
    bare_environment() {
        for (const char* name :
             {"PGHOST",
              "PGHOSTADDR",
              "PGPORT",
              "PGUSER",
              "PGDATABASE",
              "PGSERVICE",
              "PGOPTIONS",
              "PGAPPNAME",
              "PGTARGETSESSIONATTRS"})
            ::unsetenv(name);
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(store_postgres_dsn, bare_environment)

BOOST_AUTO_TEST_CASE(defaults_stand_in_where_the_user_is_silent) {
    const dsn where = dsn::parse("postgres://app@db.example/orders");

    BOOST_TEST(where.value_of("user") == "app");
    BOOST_TEST(where.value_of("dbname") == "orders");
    BOOST_TEST(where.value_of("client_encoding") == "UTF8");
    BOOST_TEST(where.value_of("fallback_application_name") == "streamld");
    BOOST_TEST(where.value_of("keepalives_idle") == "15");
    BOOST_TEST(where.value_of("keepalives_interval") == "5");
    BOOST_TEST(where.value_of("keepalives_count") == "3");
    BOOST_TEST(where.value_of("tcp_user_timeout") == "15000");
    BOOST_TEST(where.value_of("target_session_attrs").empty());
    BOOST_TEST(where.value_of("options").empty());
}

BOOST_AUTO_TEST_CASE(user_has_the_last_word_except_on_the_encoding) {
    const dsn where =
        dsn::parse("postgresql://a,b/orders?keepalives_idle=99&target_session_attrs=any"
                   "&client_encoding=LATIN1&application_name=mine");

    BOOST_TEST(where.value_of("keepalives_idle") == "99");
    BOOST_TEST(where.value_of("target_session_attrs") == "any");
    BOOST_TEST(where.value_of("application_name") == "mine");
    BOOST_TEST(where.value_of("client_encoding") == "UTF8");
}

BOOST_AUTO_TEST_CASE(several_hosts_are_searched_for_the_one_that_writes) {
    const dsn where = dsn::parse("postgres://a:1,b,[::1]:3/orders");
    const auto hosts = where.hosts();

    BOOST_TEST(where.value_of("target_session_attrs") == "read-write");
    BOOST_TEST_REQUIRE(hosts.size() == 3U);
    BOOST_TEST(hosts[0].name == "a");
    BOOST_TEST(hosts[0].port == "1");
    BOOST_TEST(hosts[1].name == "b");
    BOOST_TEST(hosts[1].port.empty());
    BOOST_TEST(hosts[2].name == "::1");
    BOOST_TEST(hosts[2].port == "3");
}

BOOST_AUTO_TEST_CASE(addresses_and_ports_belong_to_their_hosts) {
    const auto hosts = dsn::parse("host=a,b hostaddr=192.0.2.1,192.0.2.2 port=7").hosts();

    BOOST_TEST_REQUIRE(hosts.size() == 2U);
    BOOST_TEST(hosts[1].name == "b");
    BOOST_TEST(hosts[1].address == "192.0.2.2");
    BOOST_TEST(hosts[1].port == "7");
    BOOST_TEST(!refusal_of("host=a,b,c port=1,2").empty());
    BOOST_TEST(!refusal_of("host=a,b hostaddr=192.0.2.1").empty());
}

BOOST_AUTO_TEST_CASE(place_names_no_password) {
    BOOST_TEST(dsn::parse("postgres://u:geheim@h:7/d").place() == "h:7/d");
    BOOST_TEST(dsn::parse("postgres://u:geheim@a,b:7/d").place() == "a:5432,b:7/d");
    BOOST_TEST(dsn::parse("postgres://u@/d?host=/run/pg").place() == "/run/pg:5432/d");
    BOOST_TEST(dsn::parse("postgres://u@h").place() == "h:5432/u");
}

BOOST_AUTO_TEST_CASE(refusal_gives_the_reason_but_no_password) {
    const std::string unknown = refusal_of("postgres://h/d?sslmoed=require");

    BOOST_TEST(unknown.find("sslmoed") != std::string::npos);
    for (const char* url :
         {"postgres://u:geheim%zz@h/d",
          "postgres://u:geheim/x@h/d",
          "postgres://u:geheim@[::1/d",
          "postgres://u:geheim@[::1]x/d",
          "host=h password=geheim geheim",
          "postgres://h/d?password=%00geheim"}) {
        const std::string reason = refusal_of(url);
        BOOST_TEST(!reason.empty(), url);
        BOOST_TEST(reason.find("geheim") == std::string::npos, reason);
    }
}

BOOST_AUTO_TEST_CASE(environment_stands_in_for_the_url) {
    const environment_variable host("PGHOST", "elsewhere");
    const environment_variable port("PGPORT", "7");

    const dsn silent = dsn::parse("postgres:///orders");
    const dsn explicit_one = dsn::parse("postgres://here:9/orders");

    BOOST_TEST(silent.place() == "elsewhere:7/orders");
    BOOST_TEST(explicit_one.place() == "here:9/orders");
}

BOOST_AUTO_TEST_CASE(copy_with_another_setting_leaves_the_original_alone) {
    const dsn where = dsn::parse("postgres://h/d");

    const dsn listener = where.with("application_name", "streamld listen");

    BOOST_TEST(listener.value_of("application_name") == "streamld listen");
    BOOST_TEST(where.value_of("application_name").empty());
}

BOOST_AUTO_TEST_SUITE_END()
