#include "api/event_stream_start.hpp"

#include "api/problem.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace streamld::api {

namespace {

bool is_epoch(std::string_view text) {
    return text.size() == 16 &&
           text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

/// True where the parameter has its one value, false where it is absent.
bool is_given(const parameters& query, std::string_view name, std::string_view value) {
    const std::string* const given = query.find(name);
    if (given == nullptr) return false;
    if (*given != value)
        throw problem{
            "invalid-parameter",
            std::string{name} + " takes the value " + std::string{value} + " only"};
    return true;
}

/// Header over query: a browser refreshes only the header. Empty counts as absent.
std::string last_event_id(const exchange& request) {
    if (request.request().count("Last-Event-ID") > 1)
        throw problem{"invalid-request", "send one Last-Event-ID header"};
    const auto header = request.header("Last-Event-ID");
    const std::string* const camel = request.query.find("lastEventId");
    const std::string* const dashed = request.query.find("Last-Event-ID");
    if (camel != nullptr && dashed != nullptr)
        throw problem{
            "invalid-parameter", "lastEventId and Last-Event-ID are one parameter; give it once"};
    if (header && !header->empty()) return std::string{*header};
    if (camel != nullptr) return *camel;
    return dashed != nullptr ? *dashed : std::string{};
}

void start_at(subscribe_request& request, const event_id& id) {
    request.start.kind = store::start_kind::after;
    request.start.value = id.after;
    request.start.consumer.clear();
    if (!id.epoch.empty()) request.epoch = id.epoch;
}

void apply_last_event_id(event_stream_start& start, const std::string& text, bool is_multiple) {
    static constexpr const char* hint =
        "Last-Event-ID is not a position this server gave; send the last id received, or none";
    if (!is_multiple) {
        const auto id = parse_event_id(text);
        if (!id) throw problem{"invalid-cursor", hint};
        start_at(start.requests.front(), *id);
        return;
    }
    const auto ids = parse_event_ids(text);
    if (!ids) throw problem{"invalid-cursor", hint};
    for (const auto& [stream, id] : *ids) {
        const auto at = std::find_if(
            start.requests.begin(),
            start.requests.end(),
            [&name = stream](const subscribe_request& one) { return one.stream == name; }
        );
        if (at == start.requests.end())
            throw problem{"invalid-cursor", "Last-Event-ID names a stream that is not asked for"};
        start_at(*at, id);
    }
}

} // namespace

std::optional<event_id> parse_event_id(std::string_view text) {
    const std::size_t dot = text.find('.');
    const auto offset = parse_offset(text.substr(0, dot));
    if (!offset) return std::nullopt;
    if (dot == std::string_view::npos) return event_id{*offset, {}};
    const std::string_view epoch = text.substr(dot + 1);
    if (!is_epoch(epoch)) return std::nullopt;
    return event_id{*offset, std::string{epoch}};
}

std::optional<std::map<std::string, event_id>> parse_event_ids(std::string_view text) {
    std::map<std::string, event_id> ids;
    while (!text.empty()) {
        const std::string_view one = text.substr(0, text.find('&'));
        text.remove_prefix(std::min(text.size(), one.size() + 1));
        const std::size_t equals = one.find('=');
        if (equals == std::string_view::npos) return std::nullopt;
        auto name = percent_decode(one.substr(0, equals), true);
        auto id = parse_event_id(one.substr(equals + 1));
        if (!name || !id || !ids.emplace(std::move(*name), std::move(*id)).second)
            return std::nullopt;
    }
    return ids;
}

wire_format event_stream_start::format(bool is_multiple) const {
    wire_format how;
    how.how = is_multiple ? framing::sse_bare : framing::sse;
    how.is_jsonld = is_jsonld;
    how.has_epoch_id = has_epoch_id && !is_multiple;
    return how;
}

event_stream_start read_event_stream_start(
    const exchange& request, const std::vector<std::string>& streams, bool is_multiple
) {
    event_stream_start start;
    start.tells_gap_as_event = is_given(request.query, "gap", "event");
    start.has_epoch_id = is_given(request.query, "id", "epoch");
    start.is_jsonld = is_given(request.query, "format", "ld+json");
    if (is_multiple && request.query.find("epoch") != nullptr)
        throw problem{
            "invalid-parameter",
            "epoch goes with one stream; over several, ids carry epochs (id=epoch)"};
    std::set<std::string> seen;
    for (const std::string& stream : streams) {
        if (!seen.insert(stream).second)
            throw problem{"invalid-parameter", "a stream is named twice"};
        start.requests.push_back(
            read_subscribe_request(stream, request.query, store::start_kind::live)
        );
    }
    const std::string id = last_event_id(request);
    if (!id.empty()) apply_last_event_id(start, id, is_multiple);
    return start;
}

} // namespace streamld::api
