#pragma once
// The guard of an open server: which Host a request may name (DNS rebinding) and which Origin a
// browser may come from. One list serves CORS and WebSocket handshakes. Pure functions; any thread.

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace streamld::auth {

struct access_rules {
    const std::string& public_url;                   // --public-url; may be empty.
    const std::vector<std::string>& allowed_origins; // --allow-origin; `*` allows any but `null`.
    bool is_loopback = true;                         // Only then is Host checked.
};

/// localhost, 127.0.0.1, [::1] or the public URL's host, with any port. No Host passes: no browser
/// leaves it out.
[[nodiscard]] bool is_host_allowed(std::optional<std::string_view> host, const access_rules& rules);

enum class origin_verdict {
    absent,      // No browser, or a plain same-origin GET.
    same_origin, // The page came from this server: Host's or the public URL's.
    listed,      // Another site that was allowed: it gets the CORS headers.
    refused,
};

[[nodiscard]] origin_verdict judge_origin(
    std::optional<std::string_view> origin,
    std::optional<std::string_view> host,
    const access_rules& rules
);

using header_list = std::vector<std::pair<std::string, std::string>>;

/// What every answer to a listed origin carries.
[[nodiscard]] header_list cors_headers(std::string_view origin, const access_rules& rules);

/// What a preflight's answer carries besides. `methods` as in Allow.
[[nodiscard]] header_list preflight_headers(std::string_view methods);

} // namespace streamld::auth
