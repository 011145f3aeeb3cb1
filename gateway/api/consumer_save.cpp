// PUT /streams/{s}/consumers/{c}

#include "api/consumer_save.hpp"

#include "api/answers.hpp"
#include "api/handlers.hpp"
#include "api/json_members.hpp"
#include "api/problem.hpp"
#include "base/json_string.hpp"
#include "store/json_text.hpp"

namespace streamld::api {

namespace {

constexpr std::size_t body_bytes_max = 4096;

} // namespace

store::offset_t read_offset_body(std::string_view body) {
    const auto check = store::check_json(body, store::json_depth_max);
    if (!check || !check.is_object)
        throw problem("invalid-payload", "the body is {\"offset\":<number>}");
    const auto members = read_members(body);
    if (!members || members->size() != 1 || members->front().name != "offset")
        throw problem("invalid-payload", "the body is {\"offset\":<number>} and nothing else");
    const auto offset = parse_offset(members->front().raw);
    if (!offset)
        throw problem("invalid-cursor", "`offset` is an integer from 0 to 9007199254740991");
    return *offset;
}

answer_t save_consumer(exchange& request) {
    const auto body = co_await take_body(request, body_bytes_max);
    const auto offset = read_offset_body(body);
    auto& engine = request.shard.engine;
    const auto saved =
        co_await engine.save_offset(request.names[0], request.names[1], offset, request.deadline());

    auto answer = json_answer(200);
    json_object(answer.body)
        .number("offset", saved.offset)
        .boolean("advanced", saved.advanced)
        .close();
    co_return answer;
}

} // namespace streamld::api
