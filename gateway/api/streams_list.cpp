// GET /streams

#include "api/answers.hpp"
#include "api/handlers.hpp"
#include "api/problem.hpp"
#include "base/json_string.hpp"

#include <algorithm>

namespace streamld::api {

namespace {

constexpr std::size_t limit_default = 100;
constexpr store::offset_t limit_max = 1000;

std::size_t list_limit(const parameters& query) {
    const auto* text = query.find("limit");
    if (text == nullptr) return limit_default;
    const auto limit = parse_offset(*text);
    if (!limit || *limit == 0)
        throw problem(
            "invalid-parameter", "`limit` is a number of streams from 1 on (at most 1000 are given)"
        );
    return static_cast<std::size_t>(std::min(*limit, limit_max));
}

/// A part of a name, or nothing.
std::string name_part(const parameters& query, std::string_view name) {
    const auto* text = query.find(name);
    if (text == nullptr || text->empty()) return {};
    if (!store::is_valid_key(*text))
        throw problem(
            "invalid-name",
            '`' + std::string(name) + "` is UTF-8 without control characters, at most 512 bytes"
        );
    return *text;
}

} // namespace

answer_t list_streams(exchange& request) {
    const auto limit = list_limit(request.query);
    auto prefix = name_part(request.query, "prefix");
    auto after = name_part(request.query, "after");
    auto& engine = request.shard.engine;
    // One more than wanted tells whether there is a next page.
    auto found =
        co_await engine.streams(std::move(prefix), std::move(after), limit + 1, request.deadline());
    const bool has_more = found.size() > limit;
    if (has_more) found.resize(limit);

    std::string list = "[";
    for (const auto& info : found) {
        if (list.size() > 1) list += ',';
        append_stream(list, info);
    }
    list += ']';
    auto answer = json_answer(200);
    json_object body(answer.body);
    body.raw("streams", list);
    if (has_more) body.text("next", found.back().stream);
    body.close();
    co_return answer;
}

} // namespace streamld::api
