#pragma once
// A request's head as the handlers see it, free of Beast. Views point into the connection's parser
// and are valid until its next read_head(), upgrade() or begin_stream().

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace streamld::net {

struct header_field {
    std::string_view name;
    std::string_view value;
};

struct request {
    std::string_view method; // As sent: "GET", "POST", ...
    std::string_view target; // As sent: path and query, still percent-encoded.
    int version = 11;        // 10 or 11.
    std::vector<header_field> headers;
    std::optional<std::uint64_t> content_length;
    bool has_body = false; // A Content-Length above 0, or chunked.
    bool expects_continue = false;
    bool wants_upgrade =
        false; // Upgrade: websocket, with Connection: upgrade, both read as token lists.
    bool keep_alive = true;
    std::string_view peer_address;

    /// The first header of that name (ASCII case-insensitive); empty optional where absent.
    [[nodiscard]] std::optional<std::string_view> find(std::string_view name) const noexcept;
    [[nodiscard]] std::size_t count(std::string_view name) const noexcept;
};

} // namespace streamld::net
