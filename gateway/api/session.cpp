#include "api/session.hpp"

#include "api/admission.hpp"
#include "api/problem.hpp"
#include "base/log.hpp"

#include <boost/asio/error.hpp>

#include <exception>

namespace streamld::api {

namespace {

/// "127.0.0.1:8080", for requests without Host.
std::string local_address(const boost::asio::ip::tcp::socket& socket) {
    boost::system::error_code ec;
    const auto local = socket.local_endpoint(ec);
    if (ec) return "localhost";
    const auto address = local.address().to_string();
    return (local.address().is_v6() ? '[' + address + ']' : address) + ':' +
           std::to_string(local.port());
}

std::string own_url(const exchange& request, const std::string& local) {
    const auto& public_url = request.shard.limits.public_url;
    if (!public_url.empty()) return public_url;
    const auto host = request.header("Host");
    return "http://" + (host && !host->empty() ? std::string(*host) : local);
}

void log_failure(const exchange& request, const char* what) {
    // The path without the query, where a token might stand.
    log::write(
        log::level::error,
        "api",
        "a request failed",
        {{"method", std::string(request.method)}, {"path", request.path}, {"fault", what}}
    );
}

net::response problem_answer(const problem& fault, bool is_event_stream) {
    const bool will_pass = fault.status() == 503 || fault.status() == 429;
    return is_event_stream && will_pass ? come_back_later() : fault.to_response();
}

/// Every body is text, and somebody may read it in a terminal.
void end_line(std::string& body) {
    if (!body.empty() && body.back() != '\n') body += '\n';
}

/// From the head that was read to the end of its answer. True: go on with the next head.
boost::asio::awaitable<bool> answer_request(exchange& request) {
    std::optional<net::response> answer;
    bool is_event_stream = false;
    try {
        auto admitted = admit(request);
        answer = std::move(admitted.answer);
        if (admitted.row != nullptr) {
            const auto& row = *admitted.row;
            is_event_stream = wants_event_stream(request, row);
            if (request.is_surplus && !is_operation(request.path))
                throw problem(
                    "too-many-requests",
                    "the server has as many connections as it may; try again soon"
                );
            if (row.is_new_work && request.shard.is_draining)
                throw problem(
                    "shutting-down",
                    "the server is about to stop and takes no new work; try again soon"
                );
            request.query = parameters(request.raw_query(), row.query_names);
            auto given = co_await row.answer(request);
            answer = std::move(given);
        }
    } catch (const problem& fault) {
        answer = problem_answer(fault, is_event_stream);
    } catch (const store::error& fault) {
        const problem translated(fault);
        if (translated.slug() == "internal") log_failure(request, fault.what());
        answer = problem_answer(translated, is_event_stream);
    } catch (const boost::system::system_error& fault) {
        if (fault.code() == boost::asio::error::operation_aborted)
            throw; // The nursery ends this session.
        log_failure(request, fault.what());
        answer = problem("internal", "something went wrong here; it was logged").to_response();
    } catch (const std::exception& fault) {
        log_failure(request, fault.what());
        answer = problem("internal", "something went wrong here; it was logged").to_response();
    }
    if (!answer) co_return false; // A stream or an upgrade: the connection is over.
    if (!request.connection.takes_answer()) {
        // It failed after its stream had begun: a second head must not land in the body.
        request.connection.abort();
        co_return false;
    }
    request.dress(*answer);
    end_line(answer->body);
    if (request.shard.is_draining) answer->must_close = true;
    const bool goes_on = co_await request.connection.respond(std::move(*answer));
    co_return goes_on;
}

boost::asio::awaitable<void> answer_refusal(net::http_connection& connection) {
    const auto& why = connection.why_refused();
    auto answer = problem(why.slug, why.status, why.detail).to_response();
    answer.must_close = true;
    static_cast<void>(co_await connection.respond(std::move(answer)));
}

} // namespace

boost::asio::awaitable<void> run_session(
    boost::asio::ip::tcp::socket socket, services& shard, const net::connection_context& context
) {
    const auto local = local_address(socket);
    net::http_connection connection(std::move(socket), context);
    const open_connections::seat seat(shard.connections, connection);
    const bool is_surplus = shard.shard_probes.connections() > shard.connections_max;
    if (is_surplus) connection.serve_one_request();
    for (bool goes_on = true; goes_on;) {
        const auto state = co_await connection.read_head();
        if (state == net::head_state::closed) break;
        if (state == net::head_state::refused) {
            co_await answer_refusal(connection);
            break;
        }
        exchange request{shard, connection};
        request.host_url = own_url(request, local);
        request.is_surplus = is_surplus;
        goes_on = co_await answer_request(request);
    }
}

} // namespace streamld::api
