#include "api/publication.hpp"

#include "api/negotiation.hpp"
#include "api/parameters.hpp"
#include "api/problem.hpp"

#include <algorithm>

namespace streamld::api {

namespace {

constexpr std::size_t idempotency_key_bytes_max = 512;

void check_encoding(std::string_view content_encoding) {
    if (content_encoding.empty() || lower_case(content_encoding) == "identity") return;
    throw problem(
        "unsupported-media-type", "bodies are taken as they are; send it without Content-Encoding"
    );
}

void check_charset(const media_type& type) {
    const auto* charset = type.find("charset");
    if (charset != nullptr && lower_case(*charset) != "utf-8")
        throw problem(
            "unsupported-media-type",
            "text is UTF-8 here; convert the body and say charset=utf-8, or nothing"
        );
}

body_kind kind_of_lines(const media_type& type) {
    const auto* profile = type.find("profile");
    if (profile == nullptr) return body_kind::lines;
    if (*profile == "envelope") return body_kind::envelope_lines;
    throw problem(
        "unsupported-media-type", "the only profile of application/x-ndjson is `envelope`"
    );
}

bool is_visible(char c) noexcept {
    return c > 0x20 && c < 0x7f;
}

} // namespace

body_form read_body_form(std::string_view content_type, std::string_view content_encoding) {
    check_encoding(content_encoding);
    body_form form;
    if (content_type.empty()) return form;
    const auto type = parse_media_type(content_type);
    if (!type)
        throw problem(
            "unsupported-media-type", "Content-Type is no media type; JSON is application/json"
        );
    check_charset(*type);
    if (type->essence == "application/x-ndjson") {
        form.kind = kind_of_lines(*type);
    } else if (type->essence == "application/x-www-form-urlencoded") {
        form.kind = body_kind::form;
    } else {
        form.content_type = type->essence;
    }
    return form;
}

std::optional<std::string>
read_key(std::optional<std::string_view> header, const std::string* query) {
    if (header && query != nullptr && *header != *query)
        throw problem("invalid-parameter", "`key` and StreamLD-Key differ; give one of them");
    if (!header && query == nullptr) return std::nullopt;
    std::string key = header ? std::string(*header) : *query;
    if (!store::is_valid_key(key))
        throw problem(
            "invalid-name",
            "a key is 1 to 512 bytes of UTF-8 without control characters; leave it out for none"
        );
    return key;
}

std::string read_idempotency_key(std::optional<std::string_view> header) {
    if (!header) return {};
    const bool is_sound = !header->empty() && header->size() <= idempotency_key_bytes_max &&
                          std::all_of(header->begin(), header->end(), is_visible);
    if (!is_sound)
        throw problem("invalid-parameter", "Idempotency-Key is 1 to 512 visible ASCII characters");
    return std::string(*header);
}

std::optional<store::offset_t> read_expected_head(
    std::optional<std::string_view> if_match, std::optional<std::string_view> if_none_match
) {
    if (if_match && if_none_match)
        throw problem(
            "invalid-parameter", "If-Match and If-None-Match exclude each other; give one"
        );
    if (if_none_match) {
        if (*if_none_match == "*") return 0;
        throw problem(
            "invalid-parameter", "If-None-Match can only be `*`: publish only to an empty stream"
        );
    }
    if (!if_match) return std::nullopt;
    const bool is_tag = if_match->size() > 2 && if_match->front() == '"' && if_match->back() == '"';
    const auto head =
        is_tag ? parse_offset(if_match->substr(1, if_match->size() - 2)) : std::nullopt;
    if (!head)
        throw problem("invalid-parameter", "If-Match is one strong tag, the stream's head: \"41\"");
    return head;
}

} // namespace streamld::api
