#include "hub/frame.hpp"

#include "base/base64.hpp"
#include "base/json_string.hpp"
#include "base/websocket_frame.hpp"
#include "store/json_text.hpp"

namespace streamld {

namespace {

std::string context_url;

/// Raw line breaks can only stand between tokens of valid JSON; as spaces they keep a frame on one
/// line.
void append_on_one_line(std::string& out, std::string_view json) {
    const std::size_t begin = out.size();
    out += json;
    for (std::size_t at = out.find_first_of("\r\n", begin); at != std::string::npos;
         at = out.find_first_of("\r\n", at + 1))
        out[at] = ' ';
}

std::string_view type_of(const store::event_view& event) {
    return event.content_type.empty() ? store::default_content_type : event.content_type;
}

/// What was published by plain SQL was not checked when it was stored: it must not break a frame.
bool is_sound_json(const store::event_view& event) {
    if (!store::is_json_type(type_of(event))) return false;
    return event.is_checked || store::check_json(event.payload, store::json_depth_max);
}

} // namespace

void set_jsonld_context_url(std::string url) {
    context_url = std::move(url);
}

const std::string& jsonld_context_url() noexcept {
    return context_url;
}

std::string_view frame_block::bytes(std::size_t from, std::size_t to) const noexcept {
    const std::size_t begin = from == 0 ? 0 : entries_[from - 1].end;
    return std::string_view{bytes_}.substr(begin, entries_[to - 1].end - begin);
}

std::size_t frame_block::memory() const noexcept {
    return sizeof(frame_block) + bytes_.capacity() + keys_.capacity() +
           entries_.capacity() * sizeof(entry);
}

block_builder::block_builder(std::string_view stream, std::string_view epoch, wire_format format)
    : format_(format), block_(std::make_unique<frame_block>()) {
    block_->epoch_ = epoch;
    append_json_string(stream_json_, stream);
}

std::size_t block_builder::bytes() const noexcept {
    return block_->bytes_.size();
}

std::size_t block_builder::size() const noexcept {
    return block_->entries_.size();
}

void block_builder::add(const store::event_view& event) {
    std::string& out = block_->bytes_;
    switch (format_.how) {
    case framing::sse:
        out += "id: ";
        append_integer(out, event.offset);
        if (format_.has_epoch_id) {
            out += '.';
            out += block_->epoch_;
        }
        out += '\n';
        [[fallthrough]];
    case framing::sse_bare:
        out += "data: ";
        append_frame(out, event);
        out += "\n\n";
        break;
    case framing::websocket:
        scratch_.clear();
        append_frame(scratch_, event);
        append_text_frame_header(out, scratch_.size());
        out += scratch_;
        break;
    case framing::line:
        append_envelope(out, event, false);
        out += '\n';
        break;
    case framing::item:
        append_envelope(out, event, format_.is_jsonld);
        break;
    }
    frame_block::entry entry;
    entry.sequence = event.offset;
    entry.end = static_cast<std::uint32_t>(out.size());
    entry.key_begin = static_cast<std::uint32_t>(block_->keys_.size());
    entry.key_bytes = static_cast<std::uint16_t>(event.key.size());
    block_->keys_ += event.key;
    block_->entries_.push_back(entry);
}

void block_builder::append_frame(std::string& out, const store::event_view& event) {
    out += '{';
    if (format_.is_jsonld) {
        out += R"("@context":)";
        append_json_string(out, context_url);
        out += ',';
    }
    out += R"("@type":"ReplicationFrame","cursor":)";
    append_integer(out, event.offset);
    out += R"(,"event":)";
    append_envelope(out, event, true);
    out += '}';
}

void block_builder::append_envelope(
    std::string& out, const store::event_view& event, bool is_typed
) {
    out += is_typed ? R"({"@type":"EventEnvelope","streamId":)" : R"({"streamId":)";
    out += stream_json_;
    out += R"(,"sequence":)";
    append_integer(out, event.offset);
    out += event.is_snapshot ? R"(,"isSnapshot":true)" : R"(,"isSnapshot":false)";
    if (!event.key.empty()) {
        out += R"(,"key":)";
        append_json_string(out, event.key);
    }
    out += R"(,"createdAt":)";
    append_integer(out, event.created_at);
    if (type_of(event) != store::default_content_type) {
        out += R"(,"contentType":)";
        append_json_string(out, event.content_type);
    }
    out += R"(,"payload":)";
    append_payload(out, event);
    out += '}';
}

void block_builder::append_payload(std::string& out, const store::event_view& event) {
    if (!is_sound_json(event)) {
        out += R"({"@type":"xsd:base64Binary","@value":")";
        append_base64(out, event.payload);
        out += R"("})";
        return;
    }
    const bool is_linked_data = type_of(event) == "application/ld+json";
    const bool is_wrapped = format_.is_jsonld && !is_linked_data;
    if (is_wrapped) out += R"({"@type":"@json","@value":)";
    append_on_one_line(out, event.payload);
    if (is_wrapped) out += '}';
}

block_ptr block_builder::finish(std::chrono::steady_clock::time_point noticed_at) {
    block_->noticed_at_ = noticed_at;
    block_ptr whole = std::move(block_);
    block_ = std::make_unique<frame_block>();
    block_->epoch_ = whole->epoch();
    return whole;
}

std::string envelope_json(std::string_view stream, const store::event_view& event, bool is_jsonld) {
    wire_format format;
    format.how = framing::item;
    format.is_jsonld = is_jsonld;
    block_builder builder{stream, {}, format};
    builder.add(event);
    const block_ptr block = builder.finish({});
    return std::string{block->bytes(0, 1)};
}

} // namespace streamld
