// URLs of stores: what is wrong with one, and what of it may be shown.

#include "store/open_store.hpp"

#include <boost/test/unit_test.hpp>

#include <string>

using streamld::store::fault_of_store_url;
using streamld::store::is_postgres_url;
using streamld::store::printable_store_url;

BOOST_AUTO_TEST_SUITE(store_open_store)

BOOST_AUTO_TEST_CASE(scheme_names_the_engine) {
    BOOST_TEST(is_postgres_url("postgres://host/db"));
    BOOST_TEST(is_postgres_url("postgresql:///db"));
    BOOST_TEST(!is_postgres_url("sqlite:postgres"));
    BOOST_TEST(!is_postgres_url("postgres"));
}

BOOST_AUTO_TEST_CASE(good_urls_have_no_fault) {
    for (const char* url :
         {"sqlite:a.db",
          "sqlite:///tmp/a.db",
          "a.db",
          "postgres://u:p@h:5432/db?sslmode=require",
          "postgresql:///db?host=/run/postgresql",
          "postgres://a,b/db"})
        BOOST_TEST(fault_of_store_url(url).empty(), url << ": " << fault_of_store_url(url));
}

BOOST_AUTO_TEST_CASE(bad_urls_are_told_without_their_password) {
    for (const char* url :
         {"ftp:x",
          "sqlite:",
          ":memory:",
          "postgres://u:s3cret@h:no/db",
          "postgres://u:s3cret@h/db?nonsense=1"}) {
        const std::string fault = fault_of_store_url(url);
        BOOST_TEST(!fault.empty(), url);
        BOOST_TEST(fault.find("s3cret") == std::string::npos, fault);
    }
}

BOOST_AUTO_TEST_CASE(passwords_are_not_shown) {
    BOOST_TEST(printable_store_url("sqlite:a:b@c") == "sqlite:a:b@c");
    BOOST_TEST(printable_store_url("postgres://u@h/db") == "postgres://u@h/db");
    BOOST_TEST(printable_store_url("postgres://h:5432/db") == "postgres://h:5432/db");
    BOOST_TEST(printable_store_url("postgres://u:p@h:5432/db") == "postgres://u:***@h:5432/db");
    BOOST_TEST(printable_store_url("postgres://u:p@q@h/db") == "postgres://u:***@h/db");
    BOOST_TEST(
        printable_store_url("postgres://h/db?user=u&password=p&sslpassword=q&x=1") ==
        "postgres://h/db?user=u&password=***&sslpassword=***&x=1"
    );
}

BOOST_AUTO_TEST_SUITE_END()
