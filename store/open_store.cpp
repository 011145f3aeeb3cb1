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

} // namespace

std::unique_ptr<engine>
open_engine(const std::string& url, const open_options& options, store_observer* observer) {
    if (url.starts_with("postgres://") || url.starts_with("postgresql://"))
        throw error(errc::foreign, "this program was built without the Postgres engine");
    const std::string path = sqlite_path(url);
    if (path.empty() || path == ":memory:" || path.starts_with("file:") ||
        path.find('\0') != std::string::npos)
        throw error(errc::foreign, "the store must be a file: sqlite:<path>");
    return sqlite::open_sqlite_engine(path, options, observer);
}

} // namespace streamld::store
