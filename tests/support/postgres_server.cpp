#include "support/postgres_server.hpp"

#include "support/plain_postgres.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <random>
#include <stdexcept>

namespace streamld::tests {

namespace {

std::string from_environment(const char* name) {
    const char* found = std::getenv(name);
    return found == nullptr ? std::string{} : std::string(found);
}

/// The environment of a ctest test is fixed before the server has a port; the file is written when
/// it has one.
std::string find_server() {
    std::string url = from_environment("STREAMLD_TEST_POSTGRES");
    const std::string file = from_environment("STREAMLD_TEST_POSTGRES_FILE");
    if (!url.empty() || file.empty()) return url;
    std::ifstream in(file);
    std::getline(in, url);
    return url;
}

std::string random_name() {
    std::random_device source;
    std::string name = "streamld_test_";
    for (int i = 0; i < 16; ++i)
        name += "0123456789abcdef"[source() % 16];
    return name;
}

/// One connection for all databases of this process: opening one costs more than the statement.
plain_postgres& administrator() {
    static plain_postgres connection(postgres_server_url());
    return connection;
}

} // namespace

const std::string& postgres_server_url() {
    static const std::string url = find_server();
    return url;
}

std::string with_database(const std::string& url, std::string_view name) {
    const auto scheme = url.find("://");
    if (scheme == std::string::npos) throw std::runtime_error("STREAMLD_TEST_POSTGRES is no URL");
    const auto end = std::min(url.find('?', scheme), url.size());
    const auto slash = std::min(url.find('/', scheme + 3), end);
    return url.substr(0, slash) + "/" + std::string(name) + url.substr(end);
}

test_database::test_database(std::string_view template_name) : name_(random_name()) {
    if (postgres_server_url().empty()) throw std::runtime_error("no Postgres server to test on");
    administrator().run("CREATE DATABASE " + name_ + " TEMPLATE " + std::string(template_name));
}

test_database::~test_database() {
    try {
        administrator().run("DROP DATABASE IF EXISTS " + name_ + " WITH (FORCE)");
    } catch (const sql_failure&) {
        // It goes with its server.
    }
}

std::string test_database::url() const {
    return with_database(postgres_server_url(), name_);
}

} // namespace streamld::tests
