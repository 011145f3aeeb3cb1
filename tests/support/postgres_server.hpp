#pragma once
// The Postgres server of a test run and fresh databases on it. ctest starts the server
// (postgres_server.sh) before the first test that needs one; STREAMLD_TEST_POSTGRES names another.

#include <string>
#include <string_view>

namespace streamld::tests {

/// An administrator's URL, like postgres://postgres@127.0.0.1:25432/postgres. Empty: there is none.
[[nodiscard]] const std::string& postgres_server_url();

/// The same URL with another database.
[[nodiscard]] std::string with_database(const std::string& url, std::string_view name);

/// A fresh database with a random name, gone with the object together with whoever is connected.
/// Needs a server.
class test_database {
public:
    /// `template_name`: the database that it is a copy of. Nobody may be connected to that one.
    explicit test_database(std::string_view template_name = "template1");
    test_database(const test_database&) = delete;
    test_database& operator=(const test_database&) = delete;
    ~test_database();

    [[nodiscard]] const std::string& name() const noexcept { return name_; }

    [[nodiscard]] std::string url() const;

private:
    std::string name_;
};

} // namespace streamld::tests
