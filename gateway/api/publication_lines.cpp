// NDJSON bodies, line by line.

#include "api/json_members.hpp"
#include "api/problem.hpp"
#include "api/publication.hpp"
#include "store/json_text.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace streamld::api {

namespace {

/// Where a fault is, for the client.
class line_place {
public:
    explicit line_place(std::size_t number) noexcept : number_(number) {}

    [[nodiscard]] problem fault(std::string_view slug, std::string_view what) const {
        return problem(slug, "line " + std::to_string(number_) + ": " + std::string(what));
    }

    [[nodiscard]] problem fault(std::string_view what) const {
        return fault("invalid-payload", what);
    }

private:
    std::size_t number_;
};

void check_value(std::string_view json, int depth_max, const line_place& place) {
    if (const auto check = store::check_json(json, depth_max); !check)
        throw place.fault(std::string(check.fault) + " at byte " + std::to_string(check.at));
}

void check_size(std::string_view payload, const batch_limits& limits, const line_place& place) {
    if (payload.size() > limits.payload_bytes_max)
        throw place.fault(
            "payload-too-large",
            "a payload is at most " + std::to_string(limits.payload_bytes_max) + " bytes"
        );
}

std::string key_of(std::string_view literal, const line_place& place) {
    if (!literal.starts_with('"')) throw place.fault("`key` is a string");
    auto key = string_value(literal);
    if (!key || !store::is_valid_key(*key))
        throw place.fault(
            "invalid-name", "`key` is 1 to 512 bytes of UTF-8 without control characters"
        );
    return std::move(*key);
}

bool flag_of(std::string_view literal, const line_place& place) {
    if (literal != "true" && literal != "false") throw place.fault("`isSnapshot` is true or false");
    return literal == "true";
}

/// What an envelope that was read from a log has besides; so a range can be published elsewhere as
/// it was read.
bool is_of_the_log(std::string_view member) {
    return member == "@type" || member == "streamId" || member == "sequence" ||
           member == "createdAt";
}

/// Puts the line's own parts into `event`, which has the batch's.
void read_envelope(
    std::string_view line,
    const batch_limits& limits,
    const line_place& place,
    store::new_event& event
) {
    check_value(line, store::json_depth_max + 1, place);
    if (line[line.find_first_not_of(" \t\r")] != '{')
        throw place.fault("an envelope is an object with `payload`");
    std::optional<std::string_view> payload;
    std::optional<std::string_view> key;
    std::optional<std::string_view> snapshot;
    const auto members = read_members(line);
    if (!members) throw place.fault("a member is given twice");
    for (const auto& member : *members) {
        auto* const slot = member.name == "payload"      ? &payload
                           : member.name == "key"        ? &key
                           : member.name == "isSnapshot" ? &snapshot
                                                         : nullptr;
        if (slot != nullptr) {
            *slot = member.raw;
        } else if (!is_of_the_log(member.name)) {
            throw place.fault("unknown member " + quoted(member.name));
        }
    }
    if (!payload) throw place.fault("`payload` is missing");
    check_size(*payload, limits, place);
    check_value(*payload, store::json_depth_max, place);
    event.payload = *payload;
    if (key) event.key = key_of(*key, place);
    if (snapshot) event.is_snapshot = flag_of(*snapshot, place);
}

} // namespace

std::vector<store::new_event> read_lines(
    std::string_view body,
    body_kind kind,
    const std::optional<std::string>& key,
    bool is_snapshot,
    const batch_limits& limits
) {
    std::vector<store::new_event> events;
    for (std::size_t number = 1; !body.empty(); ++number) {
        const auto end = std::min(body.find('\n'), body.size());
        auto line = body.substr(0, end);
        body.remove_prefix(std::min(end + 1, body.size()));
        if (line.ends_with('\r')) line.remove_suffix(1);
        if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
        const line_place place(number);
        if (events.size() == limits.events_max)
            throw place.fault(
                "payload-too-large",
                "a batch is at most " + std::to_string(limits.events_max) + " events"
            );
        auto& event = events.emplace_back(std::string{}, key, is_snapshot);
        if (kind == body_kind::envelope_lines) {
            read_envelope(line, limits, place, event);
        } else {
            check_size(line, limits, place);
            check_value(line, store::json_depth_max, place);
            event.payload = line;
        }
    }
    if (events.empty())
        throw problem("invalid-payload", "the batch holds no event; send one JSON value a line");
    return events;
}

} // namespace streamld::api
