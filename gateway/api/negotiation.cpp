#include "api/negotiation.hpp"

#include <algorithm>
#include <cstddef>
#include <tuple>

namespace streamld::api {

namespace {

std::string_view name_of(representation offer) noexcept {
    switch (offer) {
    case representation::json:
        return "application/json";
    case representation::jsonld:
        return "application/ld+json";
    case representation::ndjson:
        return "application/x-ndjson";
    case representation::event_stream:
        return "text/event-stream";
    }
    return {};
}

bool is_token(std::string_view text) noexcept {
    constexpr std::string_view marks = "!#$%&'*+-.^_`|~";
    return !text.empty() && std::all_of(text.begin(), text.end(), [marks](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               marks.find(c) != std::string_view::npos;
    });
}

std::string_view trimmed(std::string_view text) noexcept {
    while (!text.empty() && (text.front() == ' ' || text.front() == '\t'))
        text.remove_prefix(1);
    while (!text.empty() && (text.back() == ' ' || text.back() == '\t'))
        text.remove_suffix(1);
    return text;
}

/// Up to `mark` outside quotes; removes it and the mark from `rest`.
std::string_view take_until(std::string_view& rest, char mark) noexcept {
    bool is_quoted = false;
    std::size_t i = 0;
    for (; i < rest.size() && (is_quoted || rest[i] != mark); ++i) {
        if (rest[i] == '"') is_quoted = !is_quoted;
        if (is_quoted && rest[i] == '\\') ++i;
    }
    const auto taken = rest.substr(0, std::min(i, rest.size()));
    rest.remove_prefix(std::min(i + 1, rest.size()));
    return trimmed(taken);
}

/// A token, or a quoted string without its quotes and back slashes. Empty optional where it is
/// neither.
std::optional<std::string> parameter_value(std::string_view text) {
    if (!text.starts_with('"'))
        return is_token(text) ? std::optional{std::string(text)} : std::nullopt;
    std::string value;
    for (std::size_t i = 1; i < text.size(); ++i) {
        if (text[i] == '"') return i + 1 == text.size() ? std::optional{value} : std::nullopt;
        if (text[i] == '\\' && ++i == text.size()) return std::nullopt;
        value += text[i];
    }
    return std::nullopt;
}

/// Thousandths; RFC 9110 section 12.4.2. Empty where malformed.
std::optional<int> parse_weight(std::string_view text) noexcept {
    if (text.empty() || text.size() > 5 || (text[0] != '0' && text[0] != '1')) return std::nullopt;
    int weight = (text[0] - '0') * 1000;
    if (text.size() > 1 && text[1] != '.') return std::nullopt;
    int unit = 100;
    for (const char c : text.substr(std::min<std::size_t>(2, text.size()))) {
        if (c < '0' || c > '9') return std::nullopt;
        weight += (c - '0') * unit;
        unit /= 10;
    }
    return weight <= 1000 ? std::optional{weight} : std::nullopt;
}

struct accepted_range {
    std::string type; // `text/html`, `text/*` or `*/*`.
    int weight = 1000;
    int place = 0;

    /// 0: not at all; more is more exact.
    [[nodiscard]] int exactness(std::string_view name) const noexcept {
        if (type == name) return 3;
        if (type == "*/*") return 1;
        const bool is_family = type.ends_with("/*") &&
                               name.starts_with(std::string_view(type).substr(0, type.size() - 1));
        return is_family ? 2 : 0;
    }
};

std::vector<accepted_range> parse_accept(std::string_view accept) {
    std::vector<accepted_range> ranges;
    while (!accept.empty()) {
        auto rest = take_until(accept, ',');
        accepted_range range;
        range.type = lower_case(take_until(rest, ';'));
        range.place = static_cast<int>(ranges.size());
        bool is_sound = !range.type.empty();
        while (!rest.empty()) {
            auto parameter = take_until(rest, ';');
            const auto name = lower_case(take_until(parameter, '='));
            if (name != "q") continue;
            const auto weight = parse_weight(parameter);
            is_sound = is_sound && weight.has_value();
            range.weight = weight.value_or(0);
        }
        if (is_sound) ranges.push_back(std::move(range));
    }
    return ranges;
}

} // namespace

std::string lower_case(std::string_view text) {
    std::string lower(text);
    std::transform(lower.begin(), lower.end(), lower.begin(), [](char c) {
        return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
    });
    return lower;
}

std::optional<representation>
negotiate(std::string_view accept, std::span<const representation> offers) {
    if (trimmed(accept).empty()) return offers.front();
    const auto ranges = parse_accept(accept);
    std::optional<representation> best;
    std::tuple<int, int, int> best_rank{0, 0, 0};
    for (const auto offer : offers) {
        const accepted_range* match =
            nullptr; // The most exact range decides on an offer, also by saying q=0.
        for (const auto& range : ranges) {
            const int exactness = range.exactness(name_of(offer));
            if (exactness > 0 && (match == nullptr || exactness > match->exactness(name_of(offer))))
                match = &range;
        }
        if (match == nullptr || match->weight == 0) continue;
        const std::tuple rank{match->weight, match->exactness(name_of(offer)), -match->place};
        if (!best || rank > best_rank) {
            best = offer;
            best_rank = rank;
        }
    }
    return best;
}

const std::string* media_type::find(std::string_view name) const noexcept {
    for (const auto& [known, value] : parameters)
        if (known == name) return &value;
    return nullptr;
}

std::optional<media_type> parse_media_type(std::string_view text) {
    auto rest = trimmed(text);
    media_type parsed;
    parsed.essence = lower_case(take_until(rest, ';'));
    const auto slash = parsed.essence.find('/');
    if (slash == std::string::npos || parsed.essence.find('*') != std::string::npos)
        return std::nullopt;
    const std::string_view essence = parsed.essence;
    if (!is_token(essence.substr(0, slash)) || !is_token(essence.substr(slash + 1)))
        return std::nullopt;
    while (!rest.empty()) {
        auto parameter = take_until(rest, ';');
        if (parameter.empty()) continue; // A trailing semicolon is common and harmless.
        const auto name = lower_case(take_until(parameter, '='));
        auto value = parameter_value(trimmed(parameter));
        if (!is_token(name) || !value) return std::nullopt;
        parsed.parameters.emplace_back(name, std::move(*value));
    }
    return parsed;
}

} // namespace streamld::api
