#include "api/routes.hpp"

#include "api/handlers.hpp"
#include "api/parameters.hpp"
#include "api/problem.hpp"
#include "api/streaming.hpp"
#include "store/event.hpp"

#include <algorithm>
#include <iterator>

namespace streamld::api {

namespace {

using auth::right;
using names = std::string_view;

constexpr names list_names[] = {"prefix", "after", "limit"};
constexpr names publish_names[] = {"key", "snapshot"};
constexpr names trim_names[] = {"through", "dry-run", "guard"};
constexpr names event_names[] = {
    "after",
    "last",
    "from",
    "consumer",
    "key",
    "epoch",
    "limit",
    "wait",
    "format",
    "id",
    "gap",
    "lastEventId",
    "Last-Event-ID"};
constexpr names follow_names[] = {
    "stream",
    "after",
    "last",
    "from",
    "consumer",
    "key",
    "epoch",
    "format",
    "id",
    "gap",
    "lastEventId",
    "Last-Event-ID"};
constexpr names replication_names[] = {
    "stream", "after", "last", "from", "consumer", "key", "epoch"};

constexpr bool work = true;
constexpr auto by_accept = event_stream_rule::by_accept;
constexpr auto always = event_stream_rule::always;

constexpr route table[] = {
    {"GET", "/", right::public_, {}, show_front_page},
    {"GET", "/healthz", right::public_, {}, tell_health},
    {"GET", "/readyz", right::public_, {}, tell_readiness},
    {"GET", "/metrics", right::subscribe, {}, tell_metrics},
    {"GET", "/streams", right::subscribe, list_names, list_streams},
    {"GET", "/streams/{s}", right::subscribe, {}, get_stream},
    {"PUT", "/streams/{s}", right::publish, {}, create_stream, work},
    {"GET", "/streams/{s}/events", right::subscribe, event_names, read_events, false, by_accept},
    {"POST", "/streams/{s}/events", right::publish, publish_names, publish_events, work},
    {"DELETE", "/streams/{s}/events", right::admin, trim_names, trim_events, work},
    {"GET", "/streams/{s}/events/{n}", right::subscribe, {}, get_event},
    {"GET", "/streams/{s}/consumers", right::subscribe, {}, list_consumers},
    {"GET", "/streams/{s}/consumers/{c}", right::subscribe, {}, get_consumer},
    {"PUT", "/streams/{s}/consumers/{c}", right::subscribe, {}, save_consumer, work},
    {"DELETE", "/streams/{s}/consumers/{c}", right::admin, {}, forget_consumer, work},
    {"GET", "/events", right::subscribe, follow_names, follow_streams, work, always},
    {"GET", "/replication", right::subscribe, replication_names, answer_replication, work},
    {"GET", "/problems/{slug}", right::public_, {}, explain_problem},
    {"GET", "/streamld/context.jsonld", right::public_, {}, get_context},
    {"GET", "/streamld/model/envelope.ttl", right::public_, {}, get_shapes},
};

/// What stands before the next slash; removes it and the slash. `path` begins behind a slash.
std::string_view take_segment(std::string_view& path, bool& is_last) noexcept {
    const auto end = path.find('/');
    is_last = end == std::string_view::npos;
    const auto segment = path.substr(0, end);
    path.remove_prefix(is_last ? path.size() : end + 1);
    return segment;
}

bool is_variable(std::string_view segment) noexcept {
    return segment.starts_with('{');
}

/// Segment by segment, before anything is decoded: an encoded slash is never a separator.
bool is_match(std::string_view pattern, std::string_view path) noexcept {
    if (!path.starts_with('/')) return false;
    pattern.remove_prefix(1);
    path.remove_prefix(1);
    bool is_last_wanted = false;
    bool is_last = false;
    do {
        const auto wanted = take_segment(pattern, is_last_wanted);
        const auto given = take_segment(path, is_last);
        if (is_last_wanted != is_last) return false;
        if (!is_variable(wanted) && percent_decode(given, false) != std::string(wanted))
            return false;
    } while (!is_last);
    return true;
}

std::string decode_name(std::string_view variable, std::string_view segment) {
    auto name = percent_decode(segment, false);
    const bool is_name = variable == "{s}" || variable == "{c}";
    if (!name || (is_name && !store::is_valid_name(*name)))
        throw problem(
            "invalid-name",
            "a name in a path is one percent-encoded segment: 1 to 512 bytes of UTF-8 without "
            "control characters, "
            "not `.` or `..`"
        );
    return std::move(*name);
}

std::vector<std::string> read_names(std::string_view pattern, std::string_view path) {
    std::vector<std::string> decoded;
    pattern.remove_prefix(1);
    path.remove_prefix(1);
    bool is_last_wanted = false;
    bool is_last = false;
    do {
        const auto wanted = take_segment(pattern, is_last_wanted);
        const auto given = take_segment(path, is_last);
        if (is_variable(wanted)) decoded.push_back(decode_name(wanted, given));
    } while (!is_last);
    return decoded;
}

} // namespace

std::span<const route> routes() noexcept {
    return table;
}

route_match find_route(std::string_view method, std::string_view path) {
    const auto wanted = method == "HEAD" ? std::string_view("GET") : method;
    route_match found;
    const route* of_path = nullptr;
    for (const auto& row : table) {
        if (!is_match(row.pattern, path)) continue;
        of_path = &row;
        found.allow.append(row.method).append(row.method == "GET" ? ", HEAD, " : ", ");
        if (row.method == wanted) found.row = &row;
    }
    if (of_path == nullptr)
        throw problem("unknown-path", "nothing is here; `GET /` says what there is");
    found.allow += "OPTIONS";
    found.names = read_names(of_path->pattern, path);
    return found;
}

bool is_operation(std::string_view path) noexcept {
    return path == "/healthz" || path == "/readyz" || path == "/metrics";
}

} // namespace streamld::api
