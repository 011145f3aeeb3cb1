#include "delivery/websocket_sink.hpp"

#include "base/json_string.hpp"

namespace streamld {

void websocket_sink::frames(const frame_slice& slice) {
    connection_.out().push(net::piece{slice.block, slice.bytes()});
}

void websocket_sink::caught_up(offset_t head) {
    if (ref_json_.empty()) return;
    std::string message;
    json_object object{message};
    if (is_jsonld_) object.text("@context", jsonld_context_url());
    object.text("@type", "CaughtUp")
        .text("stream", stream_)
        .number("cursor", head)
        .raw("ref", ref_json_);
    object.close();
    connection_.send_text(message);
}

void websocket_sink::gap(const gap_signal& signal) {
    connection_.send_text(gap_json(signal, ref_json_, is_jsonld_));
}

} // namespace streamld
