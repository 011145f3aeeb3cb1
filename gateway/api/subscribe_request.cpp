#include "api/subscribe_request.hpp"

#include "api/problem.hpp"

#include <algorithm>
#include <array>

namespace streamld::api {

namespace {

constexpr std::size_t epoch_digits = 16;

bool is_epoch(std::string_view text) noexcept {
    return text.size() == epoch_digits &&
           text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

/// Two starts contradict each other.
void check_one_start(const parameters& query) {
    static constexpr std::array<std::string_view, 4> starts{"after", "last", "from", "consumer"};
    const auto given = std::count_if(starts.begin(), starts.end(), [&query](std::string_view name) {
        return query.find(name) != nullptr;
    });
    if (given > 1)
        throw problem(
            "invalid-parameter",
            "`after`, `last`, `from` and `consumer` exclude each other; give one"
        );
}

store::start_point read_start(const parameters& query, store::start_kind when_absent) {
    check_one_start(query);
    store::start_point start;
    start.kind = when_absent;
    if (const auto* after = query.find("after")) {
        const auto position = parse_offset(*after);
        if (!position)
            throw problem(
                "invalid-cursor", "`after` is a number from 0 to 9007199254740991 in plain digits"
            );
        start.kind = store::start_kind::after;
        start.value = *position;
    } else if (const auto* last = query.find("last")) {
        const auto count = parse_offset(*last);
        if (!count)
            throw problem("invalid-parameter", "`last` is a number of events in plain digits");
        start.kind = store::start_kind::last;
        start.value = *count;
    } else if (const auto* from = query.find("from")) {
        if (*from != "snapshot")
            throw problem("invalid-parameter", "`from` can only be `snapshot`");
        start.kind = store::start_kind::snapshot;
    } else if (const auto* consumer = query.find("consumer")) {
        if (!store::is_valid_name(*consumer))
            throw problem(
                "invalid-name", "`consumer` is 1 to 512 bytes of UTF-8 without control characters"
            );
        start.kind = store::start_kind::consumer;
        start.consumer = *consumer;
    }
    return start;
}

bool equal_ignoring_case(std::string_view a, std::string_view b) noexcept {
    const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
    return a.size() == b.size() &&
           std::equal(a.begin(), a.end(), b.begin(), [lower](char x, char y) {
               return lower(x) == lower(y);
           });
}

/// What stands behind `http://`, `https://`, `ws://` or `wss://`.
std::optional<std::string_view> behind_scheme(std::string_view url) noexcept {
    const auto end = url.find("://");
    if (end == std::string_view::npos) return std::nullopt;
    const auto scheme = url.substr(0, end);
    for (const std::string_view known : {"http", "https", "ws", "wss"})
        if (equal_ignoring_case(scheme, known)) return url.substr(end + 3);
    return std::nullopt;
}

/// The last segment of `<base>/streams/<segment>`, still encoded.
std::optional<std::string_view>
segment_under(std::string_view text, std::string_view base) noexcept {
    constexpr std::string_view folder = "/streams/";
    if (base.empty() || text.size() <= base.size() + folder.size()) return std::nullopt;
    if (!equal_ignoring_case(text.substr(0, base.size()), base)) return std::nullopt;
    text.remove_prefix(base.size());
    if (!text.starts_with(folder)) return std::nullopt;
    text.remove_prefix(folder.size());
    return text.find_first_of("/?#") == std::string_view::npos ? std::optional{text} : std::nullopt;
}

} // namespace

subscribe_request
read_subscribe_request(std::string stream, const parameters& query, store::start_kind when_absent) {
    subscribe_request wanted;
    wanted.stream = std::move(stream);
    wanted.start = read_start(query, when_absent);
    if (const auto* key = query.find("key")) {
        if (!store::is_valid_key(*key))
            throw problem(
                "invalid-name", "`key` is 1 to 512 bytes of UTF-8 without control characters"
            );
        wanted.key = *key;
    }
    if (const auto* epoch = query.find("epoch")) {
        if (!is_epoch(*epoch))
            throw problem("invalid-parameter", "`epoch` is 16 lower-case hexadecimal digits");
        wanted.epoch = *epoch;
    }
    return wanted;
}

std::string
resolve_stream_name(std::string_view text, std::string_view host, std::string_view public_url) {
    std::string name(text);
    if (const auto rest = behind_scheme(text)) {
        auto segment = segment_under(*rest, host);
        if (!segment)
            segment = segment_under(*rest, behind_scheme(public_url).value_or(std::string_view{}));
        if (segment) {
            auto decoded = percent_decode(*segment, false);
            if (!decoded)
                throw problem("invalid-name", "the stream's URL is not percent-encoded properly");
            name = std::move(*decoded);
        }
    }
    if (!store::is_valid_name(name))
        throw problem(
            "invalid-name", "a stream's name is 1 to 512 bytes of UTF-8 without control characters"
        );
    return name;
}

} // namespace streamld::api
