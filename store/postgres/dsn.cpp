#include "store/postgres/dsn.hpp"

#include "store/errors.hpp"

#include <libpq-fe.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string_view>

namespace streamld::store::postgres {

namespace {

struct free_options {
    void operator()(PQconninfoOption* options) const noexcept { PQconninfoFree(options); }
};

struct free_text {
    void operator()(char* text) const noexcept { PQfreemem(text); }
};

using option_list = std::unique_ptr<PQconninfoOption, free_options>;

std::vector<std::string> split(const std::string& list) {
    std::vector<std::string> parts;
    std::size_t from = 0;
    for (std::size_t comma = 0; (comma = list.find(',', from)) != std::string::npos;) {
        parts.push_back(list.substr(from, comma - from));
        from = comma + 1;
    }
    parts.push_back(list.substr(from));
    return parts;
}

// libpq quotes what it did not understand, which may be the password or the whole URL. Only names
// of settings are repeated.
std::string reason_of(std::string words) {
    words = words.substr(0, words.find('\n'));
    const std::size_t from = words.find('"');
    const std::size_t to = words.rfind('"');
    const bool is_name = words.starts_with("invalid URI query parameter") ||
                         words.starts_with("invalid connection option");
    if (from != std::string::npos && !is_name) words.replace(from, to - from + 1, "***");
    return words;
}

option_list options_of(const std::string& url) {
    char* raw_reason = nullptr;
    option_list options(PQconninfoParse(url.c_str(), &raw_reason));
    const std::unique_ptr<char, free_text> reason(raw_reason);
    if (options) return options;
    throw error(
        errc::foreign,
        "the address of the database is not understood: " +
            reason_of(reason ? reason.get() : "no memory")
    );
}

} // namespace

dsn dsn::parse(const std::string& url) {
    if (url.find('\0') != std::string::npos)
        throw error(errc::foreign, "the address of the database contains a NUL byte");
    dsn made;
    const option_list options = options_of(url);
    for (const PQconninfoOption* each = options.get(); each->keyword != nullptr; ++each)
        if (each->val != nullptr) made.settings_.push_back({each->keyword, each->val});
    made.add_environment();
    made.add_defaults();
    made.check_ports();
    return made;
}

// The connections are made from these settings and resolved addresses, so PGHOST must be seen here.
// A service file comes before the environment and is read by libpq alone.
void dsn::add_environment() {
    const option_list known(PQconndefaults());
    if (!known || !value_of("service").empty() || std::getenv("PGSERVICE") != nullptr) return;
    for (const PQconninfoOption* each = known.get(); each->keyword != nullptr; ++each) {
        if (each->envvar == nullptr) continue;
        const char* value = std::getenv(each->envvar);
        if (value != nullptr) add_default(each->keyword, value);
    }
}

void dsn::add_defaults() {
    *this = with("client_encoding", "UTF8"); // Whatever the user says: names and keys are UTF-8.
    add_default("fallback_application_name", "streamld");
    if (!value_of("service").empty() || std::getenv("PGSERVICE") != nullptr) return;
    add_default("connect_timeout", "5");
    // A server that vanished without a word is noticed within half a minute.
    add_default("keepalives_idle", "15");
    add_default("keepalives_interval", "5");
    add_default("keepalives_count", "3");
    add_default("tcp_user_timeout", "15000");
    if (hosts().size() > 1) add_default("target_session_attrs", "read-write");
}

void dsn::add_default(const std::string& name, const std::string& value) {
    if (value_of(name).empty()) *this = with(name, value);
}

// A password with an unescaped `/`, `:` or `@` ends up here, so what was found is not repeated.
void dsn::check_ports() const {
    for (const host& each : hosts()) {
        const bool is_number =
            each.port.size() <= 5 && each.port.find_first_not_of("0123456789") == std::string::npos;
        if (!is_number)
            throw error(
                errc::foreign,
                "the address of the database has a port that is no number (in a password, "
                "characters such as / : @ are written %2F %3A %40)"
            );
    }
}

std::string dsn::value_of(const std::string& name) const {
    for (const setting& each : settings_)
        if (each.name == name) return each.value;
    return {};
}

dsn dsn::with(const std::string& name, const std::string& value) const {
    dsn changed = *this;
    std::erase_if(changed.settings_, [&](const setting& each) { return each.name == name; });
    changed.settings_.push_back({name, value});
    return changed;
}

std::vector<dsn::host> dsn::hosts() const {
    const std::vector<std::string> names = split(value_of("host"));
    const std::vector<std::string> addresses = split(value_of("hostaddr"));
    const std::vector<std::string> ports = split(value_of("port"));
    const std::size_t count = std::max(names.size(), addresses.size());
    // As libpq has it: a list that is given has an entry for each host, but one port serves all.
    const auto fits = [&](const std::vector<std::string>& list, bool is_one_enough) {
        return list.size() == count || (list.size() == 1 && (is_one_enough || list[0].empty()));
    };
    if (!fits(names, false) || !fits(addresses, false) || !fits(ports, true))
        throw error(
            errc::foreign, "the address of the database has not as many ports or addresses as hosts"
        );
    std::vector<host> all(count);
    for (std::size_t i = 0; i < count; ++i) {
        if (names.size() == count) all[i].name = names[i];
        if (addresses.size() == count) all[i].address = addresses[i];
        all[i].port = ports.size() == count ? ports[i] : ports[0];
    }
    return all;
}

std::string dsn::place() const {
    std::string text;
    for (const host& each : hosts()) {
        if (!text.empty()) text += ',';
        const std::string& name = each.name.empty() ? each.address : each.name;
        text += name.empty() ? "localhost" : name;
        text += ':' + (each.port.empty() ? "5432" : each.port);
    }
    const std::string user = value_of("user");
    const std::string database = value_of("dbname").empty() ? user : value_of("dbname");
    return text + '/' + database;
}

} // namespace streamld::store::postgres
