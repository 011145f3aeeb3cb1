// PUT /streams/{s}

#include "api/answers.hpp"
#include "api/handlers.hpp"

namespace streamld::api {

answer_t create_stream(exchange& request) {
    const auto made = co_await request.shard.engine.create(request.names[0], request.deadline());
    auto answer = stream_answer(request, made.is_new ? 201 : 200, made.info);
    if (made.is_new) answer.set("Location", "/streams/" + percent_encode(made.info.stream));
    co_return answer;
}

} // namespace streamld::api
