#pragma once
// Where the database is: a libpq URI (postgres://user@host/db?sslmode=require), taken apart by
// libpq itself, with this program's defaults added where the user said nothing. A value.

#include <string>
#include <utility>
#include <vector>

namespace streamld::store::postgres {

class dsn {
public:
    /// Throws error(errc::foreign) with libpq's reason. Nothing is opened or resolved.
    [[nodiscard]] static dsn parse(const std::string& url);

    struct setting {
        std::string name;
        std::string value;
    };

    /// What PQconnectStartParams gets, besides resolved addresses: the user's settings (of the URL,
    /// else of the environment, PGHOST and so on), and client_encoding=UTF8,
    /// fallback_application_name, connect_timeout, keepalives and tcp_user_timeout, and
    /// target_session_attrs=read-write where several hosts are named and the user chose none.
    [[nodiscard]] const std::vector<setting>& settings() const noexcept { return settings_; }

    [[nodiscard]] std::string value_of(const std::string& name) const; // Empty: not set.

    /// One entry of the lists in `host`, `hostaddr` and `port`. An empty part is libpq's to choose.
    struct host {
        std::string name; // Of a host or the folder of a Unix socket.
        std::string address;
        std::string port;
    };

    /// In the order in which they are tried; at least one.
    [[nodiscard]] std::vector<host> hosts() const;

    /// The same place with one setting more, or another value of it.
    [[nodiscard]] dsn with(const std::string& name, const std::string& value) const;

    /// `host:port/database`, for the log; never the password.
    [[nodiscard]] std::string place() const;

private:
    void add_environment();
    void add_defaults();
    void add_default(const std::string& name, const std::string& value);
    void check_ports() const;

    std::vector<setting> settings_;
};

} // namespace streamld::store::postgres
