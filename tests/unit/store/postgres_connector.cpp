#include "store/postgres/connector.hpp"
#include "support/postgres_server.hpp"
#include "unit/store/postgres_session.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <unistd.h>

namespace asio = boost::asio;
using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;
using streamld::store::deadline_t;
using streamld::store::errc;
using streamld::store::postgres::connection;
using streamld::store::postgres::dsn;
using streamld::store::postgres::postgres_fault;
using streamld::tests::plain_postgres;
using streamld::tests::run_loop;
using streamld::tests::soon;
using streamld::tests::within;

namespace {

/// A port of this machine that refuses, or one that takes connections and never answers.
class mute_port {
public:
    explicit mute_port(bool is_listening) : acceptor_(io_, asio::ip::tcp::v4()) {
        acceptor_.bind({asio::ip::address_v4::loopback(), 0});
        if (is_listening) acceptor_.listen();
    }

    [[nodiscard]] std::string place() const {
        return "127.0.0.1:" + std::to_string(acceptor_.local_endpoint().port());
    }

private:
    asio::io_context io_;
    asio::ip::tcp::acceptor acceptor_;
};

std::optional<postgres_fault> fault_of_open(const std::string& url, deadline_t deadline = soon()) {
    run_loop loop;
    const dsn where = dsn::parse(url);
    try {
        loop.await(connection::open(loop.context().get_executor(), where, deadline));
    } catch (const postgres_fault& fault) {
        return fault;
    }
    return {};
}

/// The server's own place and the way behind it, to put another host in front.
std::string with_first_host(const std::string& url, const std::string& place) {
    const auto at = url.find('@') == std::string::npos ? url.find("://") + 3 : url.find('@') + 1;
    return url.substr(0, at) + place + "," + url.substr(at);
}

} // namespace

BOOST_AUTO_TEST_SUITE(store_postgres_connector)

BOOST_AUTO_TEST_CASE(refused_port_is_unavailable_at_once) {
    const mute_port closed(false);
    const auto began = steady_clock::now();

    const auto fault = fault_of_open("postgres://u@" + closed.place() + "/d");

    BOOST_TEST_REQUIRE(fault.has_value());
    BOOST_TEST((fault->which() == errc::unavailable));
    BOOST_TEST(fault->words().find("refused") != std::string::npos);
    BOOST_TEST((steady_clock::now() - began < seconds(5)));
}

BOOST_AUTO_TEST_CASE(silent_server_is_unavailable_at_the_deadline) {
    const mute_port silent(true);
    const auto began = steady_clock::now();

    const auto fault =
        fault_of_open("postgres://u@" + silent.place() + "/d", within(milliseconds(200)));

    BOOST_TEST_REQUIRE(fault.has_value());
    BOOST_TEST((fault->which() == errc::unavailable));
    BOOST_TEST(fault->words().find("no answer in time") != std::string::npos);
    BOOST_TEST((steady_clock::now() - began >= milliseconds(200)));
    BOOST_TEST((steady_clock::now() - began < seconds(5)));
}

BOOST_AUTO_TEST_CASE(dead_host_does_not_hide_the_next_one) {
    const mute_port silent(true);
    const mute_port closed(false);
    const streamld::tests::test_database database;
    const std::string behind_closed = with_first_host(database.url(), closed.place());

    const auto fault = fault_of_open(
        with_first_host(behind_closed, silent.place()), within(std::chrono::seconds(6))
    );

    BOOST_TEST(!fault.has_value(), (fault ? fault->words() : ""));
}

BOOST_AUTO_TEST_CASE(host_names_are_resolved) {
    std::string url = streamld::tests::postgres_server_url();
    const auto at = url.find("127.0.0.1");
    if (at == std::string::npos) return; // The server at hand is somewhere else.

    const auto fault = fault_of_open(url.replace(at, 9, "localhost"));

    BOOST_TEST(!fault.has_value(), (fault ? fault->words() : ""));
}

BOOST_AUTO_TEST_CASE(refused_login_is_unavailable_in_libpqs_words) {
    const std::string url =
        streamld::tests::with_database(streamld::tests::postgres_server_url(), "streamld_absent");

    const auto fault = fault_of_open(url);

    BOOST_TEST_REQUIRE(fault.has_value());
    BOOST_TEST((fault->which() == errc::unavailable));
    BOOST_TEST(fault->words().find("does not exist") != std::string::npos);
    BOOST_TEST(fault->detail() == "the database cannot be reached");
}

BOOST_AUTO_TEST_CASE(server_that_takes_no_writes_is_passed_over) {
    const streamld::tests::test_database database;
    plain_postgres(database.url())
        .run("ALTER DATABASE " + database.name() + " SET default_transaction_read_only = on");

    const auto fault = fault_of_open(database.url() + "?target_session_attrs=read-write");

    BOOST_TEST_REQUIRE(fault.has_value());
    BOOST_TEST((fault->which() == errc::unavailable));
    BOOST_TEST(fault->words().find("read-only") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(database_of_another_encoding_is_foreign) {
    const std::string name = "streamld_test_latin_" + std::to_string(::getpid());
    plain_postgres administrator(streamld::tests::postgres_server_url());
    administrator.run(
        "CREATE DATABASE " + name +
        " ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0"
    );

    const auto fault =
        fault_of_open(streamld::tests::with_database(streamld::tests::postgres_server_url(), name));
    administrator.run("DROP DATABASE " + name + " WITH (FORCE)");

    BOOST_TEST_REQUIRE(fault.has_value());
    BOOST_TEST((fault->which() == errc::foreign));
    BOOST_TEST(fault->words().find("LATIN1") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
