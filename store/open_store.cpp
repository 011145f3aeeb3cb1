#include "store/open_store.hpp"

#include "store/sqlite/sqlite_engine.hpp"

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

std::string fault_of_store_url(const std::string& url) {
    const auto scheme = scheme_of(url);
    if (scheme == "postgres" || scheme == "postgresql")
        return "this program was built without the Postgres engine";
    const std::string path = sqlite_path(url);
    const bool is_file =
        !path.empty() && path != ":memory:" && path.find('\0') == std::string::npos;
    if (!is_file || (!scheme.empty() && scheme != "sqlite"))
        return "the store must be a file: sqlite:<path>";
    return {};
}

std::unique_ptr<engine>
open_engine(const std::string& url, const open_options& options, store_observer* observer) {
    const std::string fault = fault_of_store_url(url);
    if (!fault.empty()) throw error(errc::foreign, fault);
    return sqlite::open_sqlite_engine(sqlite_path(url), options, observer);
}

} // namespace streamld::store
