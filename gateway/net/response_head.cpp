#include "net/response_head.hpp"

#include "net/detail/tokens.hpp"

#include <cstdio>
#include <ctime>
#include <string_view>

namespace streamld::net {

namespace {

// "Sun, 06 Nov 1994 08:49:37 GMT", made once a second.
std::string_view http_date() {
    static thread_local std::time_t made_at = 0;
    static thread_local std::string text;
    const auto now = std::time(nullptr);
    if (now != made_at) {
        // By hand, since strftime's names depend on the locale.
        static constexpr const char* days[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
        static constexpr const char* months[] = {
            "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
        std::tm utc{};
        gmtime_r(&now, &utc);
        char made[64];
        std::snprintf(
            made,
            sizeof made,
            "%s, %02d %s %d %02d:%02d:%02d GMT",
            days[utc.tm_wday],
            utc.tm_mday,
            months[utc.tm_mon],
            utc.tm_year + 1900,
            utc.tm_hour,
            utc.tm_min,
            utc.tm_sec
        );
        text = made;
        made_at = now;
    }
    return text;
}

void append_header(std::string& out, std::string_view name, std::string_view value) {
    out += name;
    out += ": ";
    for (const char c : value) {
        const auto byte = static_cast<unsigned char>(c);
        out.push_back((byte < 0x20 && c != '\t') || byte == 0x7f ? ' ' : c);
    }
    out += "\r\n";
}

void append_connection(std::string& out, const response_framing& framing, bool offers_upgrade) {
    std::string options;
    if (!framing.keeps_alive) {
        options = "close";
    } else if (framing.says_keep_alive) {
        options = "keep-alive";
    }
    // An Upgrade header is hop by hop (RFC 9110, 7.8).
    if (offers_upgrade) options += options.empty() ? "Upgrade" : ", Upgrade";
    if (!options.empty()) append_header(out, "Connection", options);
}

} // namespace

bool may_have_body(int status) noexcept {
    return status >= 200 && status != 204 && status != 304;
}

std::string response_head(const response& answer, const response_framing& framing) {
    std::string out;
    out.reserve(256 + answer.headers.size() * 48);
    out += "HTTP/1.1 ";
    out += std::to_string(answer.status);
    out += ' ';
    out += reason_phrase(answer.status);
    out += "\r\n";
    bool has_length = false;
    bool has_upgrade = false;
    bool has_date = false;
    for (const auto& [name, value] : answer.headers) {
        has_length = has_length || detail::same_token(name, "Content-Length");
        has_upgrade = has_upgrade || detail::same_token(name, "Upgrade");
        has_date = has_date || detail::same_token(name, "Date");
        append_header(out, name, value);
    }
    if (!has_date) append_header(out, "Date", http_date());
    if (framing.is_chunked) append_header(out, "Transfer-Encoding", "chunked");
    if (framing.content_length && !has_length) {
        append_header(out, "Content-Length", std::to_string(*framing.content_length));
    }
    append_connection(out, framing, has_upgrade);
    out += "\r\n";
    return out;
}

} // namespace streamld::net
