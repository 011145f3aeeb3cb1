#pragma once
// Events as bytes ready for the wire: built once per event and format, immutable, shared by every
// reader on every shard. A block's frames lie one behind the other, so a run of them is one
// contiguous piece. Any thread.

#include "store/engine.hpp"

#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace streamld {

using store::offset_t;

enum class framing : std::uint8_t {
    sse,       // id: and data: lines and the blank line.
    sse_bare,  // data: line and blank line; the sink writes the id (several streams on one
               // response).
    websocket, // RFC 6455 text frame header and the ReplicationFrame.
    line,      // One EventEnvelope and a line feed (NDJSON).
    item,      // One EventEnvelope (the events of a page).
};

/// How frames are written. Part of a tail's identity: one encoding per stream and format, whoever
/// reads.
struct wire_format {
    framing how = framing::websocket;
    bool is_jsonld = false;
    bool has_epoch_id = false; // SSE ids of the form `41.<epoch>`.

    friend constexpr auto operator<=>(const wire_format&, const wire_format&) = default;
};

class frame_block {
public:
    struct entry {
        offset_t sequence = 0;
        std::uint32_t end =
            0; // Where the frame ends in bytes(); it begins where the one before ends.
        std::uint32_t key_begin = 0;
        std::uint16_t key_bytes = 0;
    };

    [[nodiscard]] bool empty() const noexcept { return entries_.empty(); }

    [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }

    [[nodiscard]] offset_t first() const noexcept { return entries_.front().sequence; }

    [[nodiscard]] offset_t last() const noexcept { return entries_.back().sequence; }

    [[nodiscard]] offset_t sequence(std::size_t i) const noexcept { return entries_[i].sequence; }

    [[nodiscard]] std::string_view key(std::size_t i) const noexcept {
        return std::string_view{keys_}.substr(entries_[i].key_begin, entries_[i].key_bytes);
    }

    /// Frames [from, to) as one piece.
    [[nodiscard]] std::string_view bytes(std::size_t from, std::size_t to) const noexcept;
    [[nodiscard]] std::size_t memory() const noexcept;

    /// The stream's epoch.
    [[nodiscard]] const std::string& epoch() const noexcept { return epoch_; }

    /// When this process committed or noticed the events; the epoch of the clock for pages of
    /// history.
    [[nodiscard]] std::chrono::steady_clock::time_point noticed_at() const noexcept {
        return noticed_at_;
    }

private:
    friend class block_builder;
    std::string bytes_;
    std::string keys_;
    std::string epoch_;
    std::vector<entry> entries_;
    std::chrono::steady_clock::time_point noticed_at_{};
};

using block_ptr = std::shared_ptr<const frame_block>;

/// Frames [from, to) of a block: what a sink is given.
struct frame_slice {
    block_ptr block;
    std::size_t from = 0;
    std::size_t to = 0;

    frame_slice() = default;

    frame_slice(block_ptr whole, std::size_t begin, std::size_t end)
        : block(std::move(whole)), from(begin), to(end) {}

    [[nodiscard]] std::string_view bytes() const noexcept { return block->bytes(from, to); }

    [[nodiscard]] std::size_t size() const noexcept { return to - from; }

    [[nodiscard]] offset_t last() const noexcept { return block->sequence(to - 1); }
};

/// Encodes events of one stream in one format.
class block_builder {
public:
    block_builder(std::string_view stream, std::string_view epoch, wire_format format);

    void add(const store::event_view& event);
    [[nodiscard]] std::size_t bytes() const noexcept;
    [[nodiscard]] std::size_t size() const noexcept;
    [[nodiscard]] block_ptr finish(std::chrono::steady_clock::time_point noticed_at);

private:
    void append_frame(std::string& out, const store::event_view& event);
    void append_envelope(std::string& out, const store::event_view& event, bool is_typed);
    void append_payload(std::string& out, const store::event_view& event);

    wire_format format_;
    std::string stream_json_; // The name as a JSON string, escaped once.
    std::unique_ptr<frame_block> block_;
    std::string scratch_; // One WebSocket message, whose length goes first.
};

/// The absolute URL of the JSON-LD context, for formats with is_jsonld. Set once before any loop
/// runs.
void set_jsonld_context_url(std::string url);
[[nodiscard]] const std::string& jsonld_context_url() noexcept;

/// One EventEnvelope as it stands in a page (format `item`).
[[nodiscard]] std::string
envelope_json(std::string_view stream, const store::event_view& event, bool is_jsonld);

} // namespace streamld
