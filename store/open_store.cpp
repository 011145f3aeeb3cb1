#include "store/open_store.hpp"

#include "store/postgres/postgres_engine.hpp"
#include "store/postgres/schema.hpp"
#include "store/sqlite/database_file.hpp"
#include "store/sqlite/sqlite_engine.hpp"

#include <algorithm>
#include <string_view>

namespace streamld::store {

namespace {

std::string sqlite_path(std::string_view url) {
    if (url.starts_with("sqlite://")) {
        url.remove_prefix(9);
    } else if (url.starts_with("sqlite:")) {
        url.remove_prefix(7);
    }
    return std::string(url);
}

/// What stands before the first colon, where it reads like a scheme; a path with a colon is written
/// behind `sqlite:`.
std::string_view scheme_of(std::string_view url) {
    const auto colon = url.find(':');
    if (colon == std::string_view::npos) return {};
    const auto scheme = url.substr(0, colon);
    const bool is_word =
        scheme.find_first_not_of("abcdefghijklmnopqrstuvwxyz") == std::string_view::npos;
    return is_word ? scheme : std::string_view{};
}

} // namespace

bool is_postgres_url(const std::string& url) noexcept {
    const auto scheme = scheme_of(url);
    return scheme == "postgres" || scheme == "postgresql";
}

std::string printable_store_url(const std::string& url) {
    if (!is_postgres_url(url)) return url;
    std::string shown = url;
    // user:password@ in front of the hosts; a password may have an @ of its own, hosts have none.
    const auto hosts = shown.find("://") + 3;
    const auto hosts_end = std::min(shown.find_first_of("/?", hosts), shown.size());
    const auto at = shown.rfind('@', hosts_end);
    const auto colon = shown.find(':', hosts);
    if (at != std::string::npos && at > hosts && colon < at)
        shown.replace(colon + 1, at - colon - 1, "***");
    // ...password=..., sslpassword=... among the settings.
    constexpr std::string_view setting = "password=";
    for (auto found = shown.find(setting); found != std::string::npos;
         found = shown.find(setting, found + setting.size())) {
        const auto begin = found + setting.size();
        shown.replace(begin, std::min(shown.find('&', begin), shown.size()) - begin, "***");
    }
    return shown;
}

std::string fault_of_store_url(const std::string& url) {
    if (is_postgres_url(url)) return postgres::fault_of_url(url);
    const auto scheme = scheme_of(url);
    const std::string path = sqlite_path(url);
    const bool is_file =
        !path.empty() && path != ":memory:" && path.find('\0') == std::string::npos;
    if (!is_file || (!scheme.empty() && scheme != "sqlite"))
        return "the store is sqlite:<path> or postgres://...";
    return {};
}

std::unique_ptr<engine>
open_engine(const std::string& url, const open_options& options, store_observer* observer) {
    const std::string fault = fault_of_store_url(url);
    if (!fault.empty()) throw error(errc::foreign, fault);
    if (is_postgres_url(url)) return postgres::open_postgres_engine(url, options, observer);
    return sqlite::open_sqlite_engine(sqlite_path(url), options, observer);
}

std::string schema_text(std::string_view engine, schema_part part) {
    if (engine == "sqlite") return sqlite::schema_script();
    if (engine == "postgres") return postgres::schema_script(part == schema_part::tables_and_roles);
    return {};
}

} // namespace streamld::store
