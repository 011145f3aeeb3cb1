// GET /streams/{s}/consumers/{c}

#include "api/answers.hpp"
#include "api/handlers.hpp"
#include "base/json_string.hpp"

#include <algorithm>

namespace streamld::api {

answer_t get_consumer(exchange& request) {
    const auto& stream = request.names[0];
    const auto& consumer = request.names[1];
    const auto offset =
        co_await request.shard.engine.get_offset(stream, consumer, request.deadline());
    const auto info = co_await require_stream(request, stream);

    const auto head = info.bounds.head;
    auto answer = json_answer(200);
    json_object body(answer.body);
    body.text("consumer", consumer)
        .text("stream", stream)
        .number("offset", offset)
        .number("head", head);
    body.number("lag", std::max<store::offset_t>(0, head - offset));
    body.close();
    co_return answer;
}

} // namespace streamld::api
