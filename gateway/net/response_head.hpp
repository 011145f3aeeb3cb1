#pragma once
// The first bytes of an answer: status line and headers, as text. Pure but for the clock behind
// Date.

#include "net/response.hpp"

#include <cstddef>
#include <optional>
#include <string>

namespace streamld::net {

/// How an answer's body is delimited, and what becomes of the connection.
struct response_framing {
    std::optional<std::size_t>
        content_length; // Told where set, and where the answer names none itself.
    bool is_chunked = false;
    bool keeps_alive = true;
    bool says_keep_alive = false; // HTTP/1.0 has to be told.
};

/// Control characters in a value become spaces: no answer can be split by what a client sent.
[[nodiscard]] std::string response_head(const response& answer, const response_framing& framing);

/// May an answer with this status have a body?
[[nodiscard]] bool may_have_body(int status) noexcept;

} // namespace streamld::net
