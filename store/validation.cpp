#include "store/validation.hpp"

#include "store/json_text.hpp"

namespace streamld::store {

namespace {

constexpr std::size_t content_type_bytes_max = 255;

void require_payload(const std::string& payload, bool is_json, bool is_object) {
    if (payload.empty()) throw error(errc::invalid_payload, "the payload is empty");
    if (payload.size() > payload_bytes_max)
        throw error(errc::too_large, "the payload is larger than 16 MiB");
    if (!is_json) return;
    const json_check check = check_json(payload, json_depth_max);
    if (!check) {
        throw error(
            errc::invalid_payload,
            std::string("the payload is not valid JSON: ") + check.fault + " (at byte " +
                std::to_string(check.at) + ")"
        );
    }
    if (is_object && !check.is_object)
        throw error(errc::invalid_payload, "a JSON-LD payload must be an object");
}

} // namespace

void require_stream_name(const std::string& name) {
    if (is_valid_name(name)) return;
    throw error(
        errc::invalid_name,
        "a stream name is 1 to 512 bytes of UTF-8 without control characters, and not \".\" or "
        "\"..\""
    );
}

void require_consumer_name(const std::string& name) {
    if (is_valid_name(name)) return;
    throw error(
        errc::invalid_name,
        "a consumer name is 1 to 512 bytes of UTF-8 without control characters, and not \".\" or "
        "\"..\""
    );
}

void require_key(const std::string& key) {
    if (is_valid_key(key)) return;
    throw error(errc::invalid_name, "a key is 1 to 512 bytes of UTF-8 without control characters");
}

void require_offset(offset_t offset) {
    if (offset >= 0 && offset <= offset_max) return;
    throw error(errc::invalid_cursor, "an offset is a number from 0 to 2^53-1");
}

void require_valid(const append_request& request) {
    require_stream_name(request.stream);
    if (request.events.empty()) throw error(errc::invalid_payload, "there is no event to publish");
    const std::string& type = request.content_type;
    if (type.empty() || type.size() > content_type_bytes_max || !is_plain_utf8(type))
        throw error(errc::invalid_payload, "the content type is not a media type");
    if (request.expected_head) require_offset(*request.expected_head);
    const bool is_json = is_json_type(type);
    const bool is_object = type == "application/ld+json";
    for (const auto& event : request.events) {
        if (event.key) require_key(*event.key);
        require_payload(event.payload, is_json, is_object);
    }
}

} // namespace streamld::store
