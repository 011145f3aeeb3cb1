// GET / and GET /problems/{slug}: for people.

#include "api/handlers.hpp"
#include "api/problem.hpp"

namespace streamld::api {

namespace {

// `@` stands for this server's URL.
constexpr std::string_view page_text = R"(<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>streamld</title>
<style>
  body { font: 1rem/1.5 system-ui, sans-serif; margin: 3rem auto; max-width: 48rem; padding: 0 1rem }
  pre { background: #8881; padding: 1rem; overflow-x: auto }
  @media (prefers-color-scheme: dark) { body { background: #111; color: #ddd } a { color: #8bf } }
</style>
<h1>streamld</h1>
<p>A durable event gateway: publish to a stream, read it from any position, follow it live.</p>
<h2>Try it</h2>
<pre>
# follow the stream "orders"; leave it running
curl -N '@/streams/orders/events' -H 'Accept: text/event-stream'

# publish an event, from another terminal
curl '@/streams/orders/events' --json '{"id": 1}'

# read from the beginning
curl '@/streams/orders/events'

# all streams
curl '@/streams'
</pre>
<h2>Paths</h2>
<ul>
  <li><code>/streams</code>, <code>/streams/{stream}</code>, <code>/streams/{stream}/events</code>,
    <code>/streams/{stream}/events/{number}</code>, <code>/streams/{stream}/consumers/{consumer}</code></li>
  <li><code>/events?stream=a&amp;stream=b</code>: server-sent events of several streams</li>
  <li><code>/replication</code>: WebSocket</li>
  <li><a href="/healthz">/healthz</a>, <a href="/readyz">/readyz</a>, <a href="/metrics">/metrics</a></li>
  <li><a href="/streamld/context.jsonld">/streamld/context.jsonld</a>,
    <a href="/streamld/model/envelope.ttl">/streamld/model/envelope.ttl</a></li>
</ul>
</html>
)";

std::string escape_html(std::string_view text) {
    std::string escaped;
    for (const char c : text) {
        switch (c) {
        case '&':
            escaped += "&amp;";
            break;
        case '<':
            escaped += "&lt;";
            break;
        case '>':
            escaped += "&gt;";
            break;
        case '\'':
            escaped += "&#39;";
            break;
        case '"':
            escaped += "&quot;";
            break;
        default:
            escaped += c;
        }
    }
    return escaped;
}

} // namespace

answer_t show_front_page(exchange& request) {
    const auto url = escape_html(request.host_url);
    net::response answer;
    answer.set("Content-Type", "text/html; charset=utf-8");
    answer.set("Cache-Control", "no-cache");
    answer.set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'");
    std::string_view rest = page_text;
    for (auto mark = rest.find("@/"); mark != std::string_view::npos; mark = rest.find("@/")) {
        answer.body.append(rest.substr(0, mark)).append(url);
        rest.remove_prefix(mark + 1);
    }
    answer.body.append(rest);
    co_return answer;
}

answer_t explain_problem(exchange& request) {
    const auto* kind = find_problem_kind(request.names[0]);
    if (kind == nullptr) throw problem("unknown-path", "there is no problem of this name");
    net::response answer;
    answer.set("Content-Type", "text/plain; charset=utf-8");
    answer.set("Cache-Control", "public, max-age=3600");
    answer.body.append(kind->title)
        .append(" (")
        .append(std::to_string(kind->status))
        .append(")\n\n");
    answer.body.append(kind->explanation).append("\n");
    co_return answer;
}

} // namespace streamld::api
