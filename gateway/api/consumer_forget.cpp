// DELETE /streams/{s}/consumers/{c}

#include "api/handlers.hpp"

namespace streamld::api {

answer_t forget_consumer(exchange& request) {
    co_await request.shard.engine.forget_consumer(
        request.names[0], request.names[1], request.deadline()
    );
    co_return net::response(204);
}

} // namespace streamld::api
