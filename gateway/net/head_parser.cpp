#include "net/head_parser.hpp"

#include "net/detail/beast.hpp"
#include "net/detail/tokens.hpp"

#include <boost/asio/buffer.hpp>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <limits>
#include <utility>

namespace streamld::net {

namespace http = boost::beast::http;
using boost::system::error_code;

namespace {

refusal invalid(int status, std::string detail) {
    return refusal{status, "invalid-request", std::move(detail)};
}

std::string_view view_of(boost::beast::string_view text) {
    return {text.data(), text.size()};
}

// Hands on views into the parsed bytes; Beast's own message would copy each field.
class field_collector final : public http::basic_parser<true> {
public:
    explicit field_collector(request& out) : out_(out) {
        header_limit(std::numeric_limits<std::uint32_t>::max());
        body_limit(boost::none);
    }

private:
    using text = boost::beast::string_view;

    void on_request_impl(http::verb, text method, text target, int version, error_code&) override {
        out_.method = view_of(method);
        out_.target = view_of(target);
        out_.version = version;
    }

    void on_field_impl(http::field, text name, text value, error_code&) override {
        out_.headers.push_back(header_field{view_of(name), view_of(value)});
    }

    void on_response_impl(int, text, int, error_code&) override {}

    void on_header_impl(error_code&) override {}

    void on_body_init_impl(const boost::optional<std::uint64_t>&, error_code&) override {}

    std::size_t on_body_impl(text, error_code&) override { return 0; }

    void on_chunk_header_impl(std::uint64_t, text, error_code&) override {}

    std::size_t on_chunk_body_impl(std::uint64_t, text, error_code&) override { return 0; }

    void on_finish_impl(error_code&) override {}

    request& out_;
};

std::optional<refusal> line_fault(std::string_view head) {
    for (std::size_t at = 0; (at = head.find('\n', at)) != std::string_view::npos; ++at) {
        if (at == 0 || head[at - 1] != '\r') return invalid(400, "End each line with CR LF.");
        const bool is_folded =
            at + 1 < head.size() && (head[at + 1] == ' ' || head[at + 1] == '\t');
        if (is_folded)
            return invalid(400, "Write each header on one line; folding is not allowed.");
    }
    return std::nullopt;
}

std::optional<refusal> grammar_fault(const std::string& head, request& out) {
    field_collector parser{out};
    error_code ec;
    parser.put(boost::asio::buffer(head), ec);
    if (ec == http::error::bad_version) {
        return invalid(400, "Speak HTTP/1.1 or HTTP/1.0.");
    }
    if (ec == http::error::bad_transfer_encoding || ec == http::error::bad_content_length ||
        ec == http::error::multiple_content_length) {
        return invalid(400, "Give the body's length once: one Content-Length or chunked.");
    }
    if (ec == http::error::bad_target) {
        return invalid(400, "Percent-encode the request target.");
    }
    if (ec || !parser.is_header_done()) {
        return invalid(400, "The request line or a header is malformed: " + ec.message() + ".");
    }
    return std::nullopt;
}

std::optional<refusal> length_fault(request& out) {
    const auto lengths = out.count("Content-Length");
    const auto codings = out.count("Transfer-Encoding");
    if (lengths > 1 || codings > 1 || (lengths > 0 && codings > 0)) {
        return invalid(400, "Give the body's length once: one Content-Length or chunked.");
    }
    if (codings > 0) {
        if (out.version < 11) return invalid(400, "HTTP/1.0 has no Transfer-Encoding.");
        if (!detail::same_token(*out.find("Transfer-Encoding"), "chunked")) {
            return invalid(501, "Send the body with Content-Length or chunked alone.");
        }
        out.has_body = true;
    }
    if (lengths > 0) {
        const auto text = *out.find("Content-Length");
        std::uint64_t value = 0;
        const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
        if (fault != std::errc{} || end != text.data() + text.size()) {
            return invalid(400, "Content-Length takes one decimal number.");
        }
        out.content_length = value;
        out.has_body = value > 0;
    }
    return std::nullopt;
}

std::optional<refusal> host_fault(const request& out) {
    const auto hosts = out.count("Host");
    if (hosts > 1 || (hosts == 0 && out.version >= 11)) {
        return invalid(400, "Send exactly one Host header.");
    }
    if (hosts == 1 && out.find("Host")->find_first_of(" \t,/@?#\\\"") != std::string_view::npos) {
        return invalid(400, "The Host header takes one host and port.");
    }
    return std::nullopt;
}

// "http://host/path" becomes "/path" with that host (RFC 9112, 3.2.2). The head is ours to rewrite.
std::optional<refusal> target_fault(std::string& head, request& out) {
    if (out.target.starts_with('/') || (out.target == "*" && out.method == "OPTIONS")) return {};
    const auto scheme_end = out.target.find("://");
    const auto scheme = out.target.substr(0, scheme_end);
    const bool is_absolute =
        scheme_end != std::string_view::npos &&
        (detail::same_token(scheme, "http") || detail::same_token(scheme, "https"));
    if (!is_absolute) return invalid(400, "The request target must begin with a slash.");
    const auto authority_start = scheme_end + 3;
    const auto authority_end =
        std::min(out.target.find_first_of("/?#", authority_start), out.target.size());
    auto* const bytes = head.data() + (out.target.data() - head.data());
    const auto authority_bytes = authority_end - authority_start;
    // One to the left makes room for the slash that an empty path leaves out.
    std::memmove(bytes + authority_start - 1, bytes + authority_start, authority_bytes);
    const std::string_view authority{bytes + authority_start - 1, authority_bytes};
    if (authority_end == out.target.size() || out.target[authority_end] != '/') {
        bytes[authority_end - 1] = '/';
        out.target.remove_prefix(authority_end - 1);
    } else {
        out.target.remove_prefix(authority_end);
    }
    for (auto& each : out.headers) {
        if (detail::same_token(each.name, "Host")) each.value = authority;
    }
    return std::nullopt;
}

std::optional<refusal> expectation_fault(request& out) {
    const auto expectation = out.find("Expect");
    if (!expectation || out.version < 11) return std::nullopt;
    if (out.count("Expect") > 1 || !detail::same_token(*expectation, "100-continue")) {
        return invalid(417, "The only expectation met here is 100-continue.");
    }
    out.expects_continue = true;
    return std::nullopt;
}

void read_connection_options(request& out) {
    const bool asks_close = detail::headers_have(out, "Connection", "close");
    const bool asks_keep_alive = detail::headers_have(out, "Connection", "keep-alive");
    out.keep_alive = !asks_close && (out.version >= 11 || asks_keep_alive);
    out.wants_upgrade = out.version >= 11 && detail::headers_have(out, "Upgrade", "websocket") &&
                        detail::headers_have(out, "Connection", "upgrade");
}

bool is_base64(char c) noexcept {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' ||
           c == '/';
}

// 16 bytes in base64 (RFC 6455, 4.2.1).
bool is_websocket_key(std::string_view key) noexcept {
    if (key.size() != 24 || !key.ends_with("==")) return false;
    for (const char c : key.substr(0, 22)) {
        if (!is_base64(c)) return false;
    }
    return true;
}

} // namespace

std::size_t find_head_end(const std::string& bytes, std::size_t from) noexcept {
    // An empty line begun before `from` is three bytes long at most.
    from = from > 3 ? from - 3 : 0;
    for (auto at = bytes.find('\n', from); at != std::string::npos; at = bytes.find('\n', at + 1)) {
        if (bytes.compare(at + 1, 1, "\n") == 0) return at + 2;
        if (bytes.compare(at + 1, 2, "\r\n") == 0) return at + 3;
    }
    return std::string::npos;
}

std::optional<refusal> parse_head(std::string& head, std::size_t target_bytes_max, request& out) {
    if (auto fault = line_fault(head)) return fault;
    if (auto fault = grammar_fault(head, out)) return fault;
    if (out.target.size() > target_bytes_max) {
        return invalid(414, "Shorten the path or query; the target is too long.");
    }
    if (auto fault = length_fault(out)) return fault;
    if (auto fault = host_fault(out)) return fault;
    if (auto fault = target_fault(head, out)) return fault;
    read_connection_options(out);
    return expectation_fault(out);
}

std::optional<refusal> upgrade_fault(const request& head) {
    if (!head.wants_upgrade) {
        return refusal{
            426,
            "upgrade-required",
            "Ask for Upgrade: websocket with Connection: Upgrade over HTTP/1.1."};
    }
    if (head.method != "GET") return invalid(400, "A WebSocket handshake is a GET.");
    if (head.has_body) return invalid(400, "A WebSocket handshake has no body.");
    if (head.count("Sec-WebSocket-Version") != 1 || *head.find("Sec-WebSocket-Version") != "13") {
        return refusal{426, "upgrade-required", "Send Sec-WebSocket-Version: 13."};
    }
    if (head.count("Sec-WebSocket-Key") != 1 ||
        !is_websocket_key(*head.find("Sec-WebSocket-Key"))) {
        return invalid(400, "Send one Sec-WebSocket-Key: 16 random bytes in base64.");
    }
    return std::nullopt;
}

} // namespace streamld::net
