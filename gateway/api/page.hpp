#pragma once
// The JSON page of events (PROTOCOL.md section 4), for plain reads and long-polls alike.

#include "api/exchange.hpp"
#include "net/response.hpp"
#include "store/cursor_verdict.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace streamld::api {

struct page_facts {
    std::string stream;
    store::stream_bounds bounds;
    store::offset_t after = 0; // The cursor the page began behind.
    store::offset_t last = 0;  // The last event's number; meaningful where count > 0.
    std::size_t count = 0;
    std::size_t limit = 100;
    store::offset_t scanned = 0; // max(after, head) where the page is not full.
    bool is_jsonld = false;
};

/// `limit=` of a page: 100 by default, or N with `last=N`; more than 1000 means 1000. Throws
/// problem invalid-parameter.
[[nodiscard]] std::size_t page_limit(const parameters& query);

/// `items`: the EventEnvelopes joined by commas (format `item`). Sets Content-Type, Link (next,
/// context), Vary and Cache-Control.
[[nodiscard]] net::response
page_response(const exchange& request, const page_facts& facts, std::string_view items);

} // namespace streamld::api
