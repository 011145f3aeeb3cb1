#include "delivery/event_stream.hpp"

#include "base/json_string.hpp"

#include <algorithm>
#include <random>
#include <utility>

namespace streamld {

namespace {

/// application/x-www-form-urlencoded, as ids over several streams are.
std::string form_encoded(std::string_view text) {
    static constexpr char hex[] = "0123456789ABCDEF";
    std::string out;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                              (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.' ||
                              c == '*';
        if (is_plain) {
            out += c;
        } else if (c == ' ') {
            out += '+';
        } else {
            out += '%';
            out += hex[byte >> 4];
            out += hex[byte & 15];
        }
    }
    return out;
}

} // namespace

net::response event_stream_head() {
    net::response head{200};
    head.set("Content-Type", "text/event-stream");
    head.set("Cache-Control", "no-store");
    head.set("X-Accel-Buffering", "no");
    head.set("Vary", "Accept");
    return head;
}

std::string retry_line(int least, int most) {
    thread_local std::minstd_rand random{std::random_device{}()};
    std::uniform_int_distribution<int> spread{least, most};
    return "retry: " + std::to_string(spread(random)) + "\n";
}

event_stream::event_stream(
    net::http_connection& connection, watchdog& clock, const event_stream_options& options
)
    : connection_(connection), options_(options),
      // Ticks are coarse: the heartbeat goes out with the last one that is still in time.
      silence_max_(std::max(options.heartbeat - clock.period(), options.heartbeat / 2)),
      watch_(clock, [this](watchdog::clock::time_point now) { look(now); }) {}

std::size_t event_stream::add(std::string stream, std::string epoch, offset_t start) {
    place one;
    one.encoded = form_encoded(stream);
    one.stream = std::move(stream);
    one.epoch = std::move(epoch);
    one.cursor = start;
    places_.push_back(std::move(one));
    return places_.size() - 1;
}

void event_stream::begin(const net::response& head) {
    connection_.begin_stream(head, false);
    std::string block = retry_line(1500, 2500);
    append_position(block);
    push(block);
    connection_.out().flush();
}

void event_stream::push(std::string_view text) {
    connection_.out().push_copy(text);
}

void event_stream::append_id(std::string& out) const {
    out += "id: ";
    for (const place& one : places_) {
        if (options_.is_multiple) {
            if (&one != &places_.front()) out += '&';
            out += one.encoded;
            out += '=';
        }
        append_integer(out, one.cursor);
        if (options_.has_epoch_id && !one.epoch.empty()) {
            out += '.';
            out += one.epoch;
        }
    }
    out += '\n';
}

void event_stream::append_position(std::string& out) const {
    out += "event: position\n";
    append_id(out);
    out += "data: ";
    json_object data{out};
    data.text("@type", "Position");
    if (options_.is_multiple) {
        std::string cursors;
        json_object by_stream{cursors};
        for (const place& one : places_)
            by_stream.number(one.stream, one.cursor);
        by_stream.close();
        data.raw("cursors", cursors);
    } else {
        data.number("cursor", places_.front().cursor);
    }
    data.close();
    out += "\n\n";
}

void event_stream::frames(std::size_t index, const frame_slice& slice) {
    has_moved_ = false;
    place& one = places_[index];
    // A stream that came into being under the subscription.
    if (one.epoch.empty()) one.epoch = slice.block->epoch();
    if (!options_.is_multiple) {
        one.cursor = slice.last();
        connection_.out().push(net::piece{slice.block, slice.bytes()});
        return;
    }
    // The id says the position in all streams: it is this reader's own, the data is shared.
    std::string id;
    for (std::size_t i = slice.from; i < slice.to; ++i) {
        one.cursor = slice.block->sequence(i);
        id.clear();
        append_id(id);
        push(id);
        connection_.out().push(net::piece{slice.block, slice.block->bytes(i, i + 1)});
    }
}

void event_stream::moved(std::size_t index, offset_t scanned) {
    if (scanned <= places_[index].cursor) return;
    places_[index].cursor = scanned;
    has_moved_ = true;
}

void event_stream::look(watchdog::clock::time_point now) {
    net::outbox& way_out = connection_.out();
    if (!way_out.is_ready() || now - way_out.last_push() < silence_max_) return;
    if (!options_.is_filtered || !std::exchange(has_moved_, false)) {
        push(":\n");
        return;
    }
    std::string block;
    append_position(block);
    push(block);
}

void event_stream::gap(const gap_signal& signal) {
    push("event: gap\ndata: " + gap_json(signal, {}, options_.is_jsonld) + "\n\n");
}

void event_stream::ask_to_return() {
    push(retry_line(1000, 10'000) + "\n");
}

} // namespace streamld
