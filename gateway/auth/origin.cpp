#include "auth/origin.hpp"

#include <algorithm>

namespace streamld::auth {

namespace {

std::string lower_case(std::string_view text) {
    std::string lower(text);
    std::transform(lower.begin(), lower.end(), lower.begin(), [](char c) {
        return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
    });
    return lower;
}

/// `scheme://host[:port]`, in lower case; the port is the scheme's own where none stands there.
struct site {
    std::string scheme;
    std::string host; // IPv6 with its brackets.
    std::string port;

    friend bool operator==(const site&, const site&) = default;
};

/// Empty where it is no `host[:port]`.
std::optional<site> parse_authority(std::string_view text) {
    site parsed;
    auto host_end = text.size();
    if (text.starts_with('[')) {
        const auto bracket = text.find(']');
        if (bracket == std::string_view::npos) return std::nullopt;
        host_end = bracket + 1;
    } else {
        host_end = std::min(text.find(':'), text.size());
    }
    parsed.host = lower_case(text.substr(0, host_end));
    const auto rest = text.substr(host_end);
    if (!rest.empty()) {
        if (rest.front() != ':') return std::nullopt;
        parsed.port = rest.substr(1);
        if (parsed.port.find_first_not_of("0123456789") != std::string::npos) return std::nullopt;
    }
    if (parsed.host.empty() || parsed.host.find_first_of("/@?#\\ ") != std::string::npos)
        return std::nullopt;
    return parsed;
}

void fill_port(site& place) {
    if (!place.port.empty()) return;
    if (place.scheme == "http") place.port = "80";
    if (place.scheme == "https") place.port = "443";
}

/// The site of an origin or a URL. Empty for anything but http and https.
std::optional<site> parse_site(std::string_view url) {
    const auto scheme_end = url.find("://");
    if (scheme_end == std::string_view::npos) return std::nullopt;
    const auto scheme = lower_case(url.substr(0, scheme_end));
    if (scheme != "http" && scheme != "https") return std::nullopt;
    url.remove_prefix(scheme_end + 3);
    auto parsed = parse_authority(url.substr(0, std::min(url.find('/'), url.size())));
    if (!parsed) return std::nullopt;
    parsed->scheme = scheme;
    fill_port(*parsed);
    return parsed;
}

/// A proxy in front may have ended TLS, so Host fits the origin with the origin's own scheme.
bool is_site_of_host(const site& origin, std::string_view host) {
    auto named = parse_authority(host);
    if (!named) return false;
    named->scheme = origin.scheme;
    fill_port(*named);
    return *named == origin;
}

bool is_listed(const site& origin, const std::string& allowed) {
    return allowed == "*" || parse_site(allowed) == std::optional{origin};
}

bool allows_any(const access_rules& rules) {
    return std::find(rules.allowed_origins.begin(), rules.allowed_origins.end(), "*") !=
           rules.allowed_origins.end();
}

} // namespace

bool is_host_allowed(std::optional<std::string_view> host, const access_rules& rules) {
    if (!rules.is_loopback || !host || host->empty()) return true;
    const auto named = parse_authority(*host);
    if (!named) return false;
    if (named->host == "localhost" || named->host == "127.0.0.1" || named->host == "[::1]")
        return true;
    const auto own = parse_site(rules.public_url);
    return own && own->host == named->host;
}

origin_verdict judge_origin(
    std::optional<std::string_view> origin,
    std::optional<std::string_view> host,
    const access_rules& rules
) {
    if (!origin) return origin_verdict::absent;
    const auto from = parse_site(*origin);
    if (!from || origin->find('/', origin->find("://") + 3) != std::string_view::npos)
        return origin_verdict::refused;
    if (host && is_site_of_host(*from, *host)) return origin_verdict::same_origin;
    if (parse_site(rules.public_url) == from) return origin_verdict::same_origin;
    for (const auto& allowed : rules.allowed_origins)
        if (is_listed(*from, allowed)) return origin_verdict::listed;
    return origin_verdict::refused;
}

header_list cors_headers(std::string_view origin, const access_rules& rules) {
    header_list headers;
    headers.emplace_back("Access-Control-Allow-Origin", origin);
    // A site that was named may send the visitor's cookies (for a proxy in front); an unnamed one
    // may not.
    if (!allows_any(rules)) headers.emplace_back("Access-Control-Allow-Credentials", "true");
    headers.emplace_back(
        "Access-Control-Expose-Headers", "ETag, Link, Location, Idempotency-Replayed, Retry-After"
    );
    return headers;
}

header_list preflight_headers(std::string_view methods) {
    header_list headers;
    headers.emplace_back("Access-Control-Allow-Methods", methods);
    headers.emplace_back(
        "Access-Control-Allow-Headers",
        "Accept, Authorization, Cache-Control, Content-Type, Idempotency-Key, If-Match, "
        "If-None-Match, "
        "Last-Event-ID, StreamLD-Key"
    );
    headers.emplace_back("Access-Control-Max-Age", "600");
    return headers;
}

} // namespace streamld::auth
