#include "store/postgres/connection.hpp"

#include "store/postgres/connector.hpp"
#include "store/postgres/pipeline.hpp"

#include <utility>

namespace streamld::store::postgres {

namespace {

namespace asio = boost::asio;

// From here on the server can look after a client while it runs a statement.
constexpr int first_with_client_checks = 140000;

} // namespace

connection::connection(std::unique_ptr<pipeline> inner) : pipeline_(std::move(inner)) {}

connection::~connection() = default;

asio::awaitable<std::unique_ptr<connection>>
connection::open(asio::any_io_executor loop, const dsn& where, deadline_t deadline) {
    raw_connection made = co_await connect(loop, where, deadline);
    auto inner = std::make_unique<pipeline>(loop, std::move(made));
    const std::string encoding = inner->server_encoding();
    if (!encoding.empty() && encoding != "UTF8")
        throw postgres_fault(
            errc::foreign,
            "the database's encoding is not UTF8",
            "0A000",
            "the database's encoding is " + encoding + ", not UTF8"
        );
    std::unique_ptr<connection> opened(new connection(std::move(inner)));
    if (opened->server_version() < first_with_client_checks) co_return opened;
    query notice_our_end("SELECT set_config('client_connection_check_interval', '1s', false)");
    try {
        co_await ask(*opened, std::move(notice_our_end), deadline);
    } catch (const postgres_fault&) {
        // A courtesy: a statement that nobody waits for any more ends by itself.
        if (opened->is_broken()) throw;
    }
    co_return opened;
}

asio::awaitable<std::vector<result>>
connection::exchange(std::vector<query> queries, deadline_t deadline, const char* recovery) {
    pipeline_->require_unbroken();
    if (std::chrono::steady_clock::now() >= deadline)
        throw postgres_fault(
            errc::busy, "the deadline passed before the statement was sent", "57014", "not sent"
        );
    answers got;
    pipeline_->send(queries);
    co_await pipeline_->collect(got, deadline);
    if (!got.fault) co_return std::move(got.results);
    if (got.fault->ends_connection()) {
        pipeline_->break_off(*got.fault);
    } else if (pipeline_->is_in_failed_transaction() && recovery != nullptr) {
        co_await pipeline_->recover(recovery, deadline);
    }
    throw postgres_fault(*got.fault);
}

asio::awaitable<std::optional<notification>> connection::next_notification(deadline_t until) {
    return pipeline_->next_notification(until);
}

bool connection::is_broken() const noexcept {
    return pipeline_->is_broken();
}

bool connection::is_alive() noexcept {
    return pipeline_->looks_alive();
}

bool connection::is_in_transaction() const noexcept {
    return pipeline_->is_in_transaction();
}

int connection::backend_pid() const noexcept {
    return pipeline_->backend_pid();
}

int connection::server_version() const noexcept {
    return pipeline_->server_version();
}

void connection::abort() noexcept {
    pipeline_->break_off(pipeline::lost("given up by its user"));
}

asio::awaitable<result> ask(connection& db, query what, deadline_t deadline) {
    std::vector<query> queries;
    queries.push_back(std::move(what));
    std::vector<result> results = co_await db.exchange(std::move(queries), deadline);
    co_return std::move(results.at(0));
}

} // namespace streamld::store::postgres
