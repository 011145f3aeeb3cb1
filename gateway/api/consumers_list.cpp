// GET /streams/{s}/consumers

#include "api/answers.hpp"
#include "api/handlers.hpp"
#include "base/json_string.hpp"

#include <algorithm>

namespace streamld::api {

answer_t list_consumers(exchange& request) {
    // The offsets first: the head that is read behind them is never below one.
    const auto consumers =
        co_await request.shard.engine.consumers(request.names[0], request.deadline());
    const auto info = co_await require_stream(request, request.names[0]);

    std::string list = "[";
    for (const auto& each : consumers) {
        if (list.size() > 1) list += ',';
        const auto lag = std::max<store::offset_t>(0, info.bounds.head - each.offset);
        json_object(list)
            .text("consumer", each.consumer)
            .number("offset", each.offset)
            .number("lag", lag)
            .close();
    }
    list += ']';
    auto answer = json_answer(200);
    json_object(answer.body).text("stream", info.stream).raw("consumers", list).close();
    co_return answer;
}

} // namespace streamld::api
