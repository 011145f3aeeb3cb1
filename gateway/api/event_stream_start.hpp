#pragma once
// Where an event stream begins and how it is written, from the request's headers and query
// (PROTOCOL.md section 5). Pure.

#include "api/exchange.hpp"
#include "api/subscribe_request.hpp"
#include "hub/frame.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace streamld::api {

struct event_id {
    store::offset_t after = 0;
    std::string epoch; // Empty where the id names none.

    event_id(store::offset_t position, std::string log) : after(position), epoch(std::move(log)) {}
};

/// `41` or `41.<epoch>`.
[[nodiscard]] std::optional<event_id> parse_event_id(std::string_view text);

/// `a=41&b=7`, form-encoded names, each position in either form. Empty optional where malformed.
[[nodiscard]] std::optional<std::map<std::string, event_id>> parse_event_ids(std::string_view text);

struct event_stream_start {
    std::vector<subscribe_request> requests; // One per stream, in the order asked for.
    bool tells_gap_as_event = false;         // ?gap=event
    bool has_epoch_id = false;               // ?id=epoch
    bool is_jsonld = false;                  // ?format=ld+json

    [[nodiscard]] wire_format format(bool is_multiple) const;
};

/// Throws problem.
[[nodiscard]] event_stream_start read_event_stream_start(
    const exchange& request, const std::vector<std::string>& streams, bool is_multiple
);

} // namespace streamld::api
