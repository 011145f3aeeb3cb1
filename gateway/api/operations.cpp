// GET /healthz, /readyz and /metrics

#include "api/answers.hpp"
#include "api/handlers.hpp"
#include "api/problem.hpp"
#include "base/json_string.hpp"

namespace streamld::api {

namespace {

constexpr std::chrono::seconds probe_timeout{2}; // Whoever asks for readiness asks again soon.

net::response plain_text(std::string_view content_type, std::string body) {
    net::response answer;
    answer.set("Content-Type", std::string(content_type));
    answer.set("Cache-Control", "no-store");
    answer.body = std::move(body);
    return answer;
}

} // namespace

answer_t tell_health(exchange&) {
    co_return plain_text("text/plain; charset=utf-8", "ok\n");
}

answer_t tell_readiness(exchange& request) {
    if (request.shard.is_draining) throw problem("shutting-down", "the server is about to stop");
    const auto deadline = std::chrono::steady_clock::now() + probe_timeout;
    co_await request.shard.engine.probe(deadline);
    const bool is_polling = request.shard.engine.figures().is_woken_by_polling;
    auto answer = json_answer(200);
    json_object body(answer.body);
    body.text("status", "ready");
    // How soon commits of other processes are noticed; late is not broken.
    body.text("wakes", is_polling ? "polling" : "notified");
    body.close();
    co_return answer;
}

answer_t tell_metrics(exchange& request) {
    co_return plain_text("text/plain; version=0.0.4; charset=utf-8", request.shard.metrics_text());
}

} // namespace streamld::api
