#pragma once
// From the bytes of a request's head to a request, or the reason why not. Beast knows the grammar;
// on top of it stands what keeps two parsers from disagreeing (RFC 9112, 6.3 and 11.2): one length,
// one host, no folding, no control bytes. Pure.

#include "net/refusal.hpp"
#include "net/request.hpp"

#include <cstddef>
#include <optional>
#include <string>

namespace streamld::net {

/// The place behind the head's empty line in `bytes`, looking from `from` on; npos where it has not
/// come yet. A bare LF ends a line here, so that the parser may refuse it at once instead of
/// waiting for more.
[[nodiscard]] std::size_t find_head_end(const std::string& bytes, std::size_t from) noexcept;

/// `head` is a whole head; `out` gets views into it. An absolute-form target is rewritten in place
/// to its path.
[[nodiscard]] std::optional<refusal>
parse_head(std::string& head, std::size_t target_bytes_max, request& out);

/// Why that request may not become a WebSocket (426 or 400), or nothing.
[[nodiscard]] std::optional<refusal> upgrade_fault(const request& head);

} // namespace streamld::net
