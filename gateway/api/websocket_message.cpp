#include "api/websocket_message.hpp"

#include "api/problem.hpp"
#include "api/publication.hpp"
#include "store/json_text.hpp"

#include <algorithm>
#include <utility>

namespace streamld::api {

namespace {

[[noreturn]] void refuse(std::string_view slug, std::string_view name, std::string_view must) {
    throw problem{slug, std::string{name} + " " + std::string{must}};
}

bool is_number(std::string_view raw) {
    return !raw.empty() && (raw.front() == '-' || (raw.front() >= '0' && raw.front() <= '9'));
}

bool read_flag(std::string_view name, std::string_view raw) {
    if (raw != "true" && raw != "false") refuse("invalid-parameter", name, "is true or false");
    return raw == "true";
}

/// The content types a message can carry: JSON's own, in lower case, without parameters.
std::string json_content_type(std::string text) {
    std::transform(text.begin(), text.end(), text.begin(), [](char c) {
        return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    if (!store::is_json_type(text))
        throw problem{
            "unsupported-media-type",
            "a message carries JSON: contentType is application/json or ends in +json; publish "
            "other types over HTTP"};
    return text;
}

} // namespace

websocket_message::websocket_message(std::string_view text) {
    // One level more than a payload's own: the message around it.
    const store::json_check check = store::check_json(text, store::json_depth_max + 1);
    if (!check)
        throw problem{"invalid-request", std::string{"the message is not JSON: "} + check.fault};
    if (!check.is_object) throw problem{"invalid-request", "a message is one JSON object"};
    auto members = read_members(text);
    if (!members) throw problem{"invalid-request", "a member's name stands twice, or is no text"};
    members_ = std::move(*members);
    if (const auto ref = find("ref")) {
        if (!is_number(*ref) && !string_value(*ref))
            throw problem{"invalid-request", "ref is a string or a number"};
        ref_json_ = *ref;
    }
    const auto type = find("@type");
    const std::optional<std::string> name =
        type ? string_value(*type) : std::string{"SubscriptionRequest"};
    type_ = name.value_or("");
}

std::optional<std::string_view> websocket_message::find(std::string_view name) const noexcept {
    for (const json_member& one : members_)
        if (one.name == name) return one.raw;
    return std::nullopt;
}

void websocket_message::allow_only(std::initializer_list<std::string_view> names) const {
    for (const json_member& one : members_) {
        const bool is_known = one.name.starts_with('@') || one.name == "ref" ||
                              std::find(names.begin(), names.end(), one.name) != names.end();
        if (!is_known)
            throw problem{"invalid-parameter", type_ + " does not know " + quoted(one.name)};
    }
}

std::optional<std::string> websocket_message::optional_text(std::string_view name) const {
    const auto raw = find(name);
    if (!raw) return std::nullopt;
    auto value = string_value(*raw);
    if (!value) refuse("invalid-parameter", name, "is a string");
    return value;
}

std::string websocket_message::text(std::string_view name) const {
    auto value = optional_text(name);
    if (!value) refuse("invalid-parameter", name, "is missing");
    return std::move(*value);
}

store::offset_t websocket_message::offset(std::string_view name) const {
    const auto raw = find(name);
    if (!raw) refuse("invalid-parameter", name, "is missing");
    const auto value = parse_offset(*raw);
    if (!value)
        refuse(
            "invalid-cursor", name, "is an integer from 0 to 9007199254740991, written as digits"
        );
    return *value;
}

std::string websocket_message::stream(const own_names& names) const {
    return resolve_stream_name(text("stream"), names.host, names.public_url);
}

subscribe_request websocket_message::to_subscribe_request(const own_names& names) const {
    allow_only({"stream", "after", "last", "from", "consumer", "epoch", "key"});
    // The same rules as a query's: numbers are given as their digits, the rest as text.
    std::vector<std::pair<std::string, std::string>> options;
    for (const std::string_view name : {"after", "last"}) {
        const auto raw = find(name);
        if (!raw) continue;
        if (!parse_offset(*raw))
            refuse(
                name == "after" ? "invalid-cursor" : "invalid-parameter",
                name,
                "is an integer from 0 to 9007199254740991, written as digits"
            );
        options.emplace_back(name, *raw);
    }
    for (const std::string_view name : {"from", "consumer", "epoch", "key"})
        if (auto value = optional_text(name)) options.emplace_back(name, std::move(*value));
    return read_subscribe_request(
        stream(names), parameters{std::move(options)}, store::start_kind::live
    );
}

store::append_request
websocket_message::to_append_request(const own_names& names, std::size_t payload_bytes_max) const {
    allow_only({"stream", "payload", "key", "isSnapshot", "contentType", "idempotencyKey"});
    const auto payload = find("payload");
    if (!payload) refuse("invalid-parameter", "payload", "is missing");
    if (payload->size() > payload_bytes_max)
        throw problem{
            "payload-too-large",
            "a payload has at most " + std::to_string(payload_bytes_max) + " bytes"};
    store::append_request request;
    request.stream = stream(names);
    store::new_event event{std::string{*payload}, optional_text("key")};
    if (const auto flag = find("isSnapshot")) event.is_snapshot = read_flag("isSnapshot", *flag);
    request.events.push_back(std::move(event));
    if (auto type = optional_text("contentType"))
        request.content_type = json_content_type(std::move(*type));
    if (const auto token = optional_text("idempotencyKey"))
        request.idempotency_key = read_idempotency_key(*token);
    return request;
}

} // namespace streamld::api
