// GET /streams/{s}

#include "api/answers.hpp"
#include "api/handlers.hpp"

namespace streamld::api {

answer_t get_stream(exchange& request) {
    const auto info = co_await require_stream(request, request.names[0]);
    co_return stream_answer(request, 200, info);
}

} // namespace streamld::api
