#include "store/postgres/pipeline.hpp"

#include <libpq-fe.h>

#include <poll.h>
#include <string_view>
#include <utility>

namespace streamld::store::postgres {

namespace {

namespace asio = boost::asio;

struct free_notification {
    void operator()(PGnotify* raw) const noexcept { PQfreemem(raw); }
};

/// COPY would wait for data that nobody has, and nothing but the end gets it out of that.
postgres_fault no_copy() {
    return {
        errc::unavailable, "the database refused the statement", {}, "COPY is not possible here"};
}

} // namespace

// ---------------------------------------------------------------- libpq

pipeline::pipeline(asio::any_io_executor loop, raw_connection made)
    : backend_pid_(PQbackendPID(made.get())), server_version_(PQserverVersion(made.get())),
      raw_(std::move(made)), watch_(std::move(loop)) {
    PQsetNoticeReceiver(raw_.get(), on_notice, this);
    if (PQsetnonblocking(raw_.get(), 1) != 0 || PQenterPipelineMode(raw_.get()) != 1)
        throw fault_of(*raw_);
    watch_.watch(PQsocket(raw_.get()));
}

// An idle session's last words (57P01) come as a notice.
void pipeline::on_notice(void* self, const PGresult* notice) {
    auto& own = *static_cast<pipeline*>(self);
    const char* severity = PQresultErrorField(notice, PG_DIAG_SEVERITY_NONLOCALIZED);
    const std::string_view word = severity == nullptr ? "" : severity;
    if (!own.farewell_ && (word == "FATAL" || word == "PANIC"))
        own.farewell_.emplace(fault_of(*notice));
}

void pipeline::send(const query& next) {
    std::vector<Oid> types;
    std::vector<const char*> values;
    std::vector<int> lengths;
    std::vector<int> formats;
    for (const parameter& each : next.parameters()) {
        types.push_back(static_cast<Oid>(each.type));
        values.push_back(each.is_null ? nullptr : each.bytes.c_str());
        lengths.push_back(static_cast<int>(each.bytes.size()));
        formats.push_back(each.is_binary ? 1 : 0);
    }
    const int sent = PQsendQueryParams(
        raw_.get(),
        next.sql().c_str(),
        static_cast<int>(types.size()),
        types.data(),
        values.data(),
        lengths.data(),
        formats.data(),
        static_cast<int>(next.format())
    );
    if (sent == 1) return;
    break_off(fault_of(*raw_));
    require_unbroken();
}

void pipeline::send(const std::vector<query>& queries) {
    for (const query& next : queries)
        send(next);
    if (PQpipelineSync(raw_.get()) == 1) return;
    break_off(fault_of(*raw_));
    require_unbroken();
}

/// Reads what has come. False: the connection has ended.
bool pipeline::read() {
    const bool is_open = PQconsumeInput(raw_.get()) == 1;
    take_notifications();
    return is_open && !farewell_;
}

void pipeline::take_answers(answers& to) {
    // One null separates the answers; after two of them libpq has nothing more to say.
    int nulls = 0;
    while (!to.is_complete && !is_broken() && nulls < 2 && PQisBusy(raw_.get()) == 0) {
        PGresult* next = PQgetResult(raw_.get());
        nulls = next == nullptr ? nulls + 1 : 0;
        if (next != nullptr) take(next, to);
    }
}

void pipeline::take(PGresult* raw, answers& to) {
    result owned(raw);
    switch (PQresultStatus(raw)) {
    case PGRES_TUPLES_OK:
    case PGRES_COMMAND_OK:
    case PGRES_EMPTY_QUERY:
        to.results.push_back(std::move(owned));
        break;
    case PGRES_PIPELINE_SYNC:
        to.is_complete = true;
        break;
    case PGRES_PIPELINE_ABORTED:
        break;
    case PGRES_FATAL_ERROR:
    case PGRES_BAD_RESPONSE:
        if (!to.fault) to.fault.emplace(fault_of(*raw));
        break;
    default:
        break_off(no_copy());
        break;
    }
}

void pipeline::take_notifications() {
    while (const auto raw = std::unique_ptr<PGnotify, free_notification>(PQnotifies(raw_.get()))) {
        notifications_.push_back({raw->relname, raw->extra, raw->be_pid});
    }
}

postgres_fault pipeline::end_of_connection() const {
    return farewell_ ? *farewell_ : fault_of(*raw_);
}

// ---------------------------------------------------------------- the state

void pipeline::break_off(postgres_fault why) noexcept {
    if (is_broken()) return;
    broken_by_.emplace(std::move(why));
    watch_.release();
    raw_.reset();
}

postgres_fault pipeline::lost(const std::string& words) {
    return {errc::unavailable, "the database cannot be reached", {}, words};
}

void pipeline::require_unbroken() const {
    if (is_broken()) throw postgres_fault(*broken_by_);
}

bool pipeline::looks_alive() noexcept {
    // Each turn reads what lies there. A server's last words and the end behind them are two turns.
    constexpr int turns_max = 16;
    for (int turn = 0; turn < turns_max && !is_broken(); ++turn) {
        pollfd socket{PQsocket(raw_.get()), POLLIN, 0};
        if (::poll(&socket, 1, 0) == 0) return true;
        if (!read()) break_off(end_of_connection());
    }
    return !is_broken();
}

bool pipeline::is_in_transaction() const noexcept {
    return is_broken() || PQtransactionStatus(raw_.get()) != PQTRANS_IDLE;
}

bool pipeline::is_in_failed_transaction() const noexcept {
    return !is_broken() && PQtransactionStatus(raw_.get()) == PQTRANS_INERROR;
}

std::string pipeline::server_encoding() const {
    const char* name = PQparameterStatus(raw_.get(), "server_encoding");
    return name == nullptr ? "" : name;
}

// ---------------------------------------------------------------- waiting

// While it writes it reads too: a server that cannot get rid of its answers takes no more
// questions.
asio::awaitable<void> pipeline::collect(answers& to, deadline_t deadline) {
    for (;;) {
        // A failure to write shows up as one to read, behind what the server had to say.
        const bool is_flushed = PQflush(raw_.get()) != 1;
        // libpq reads while it writes and may have found the end: then no socket is left to wait
        // for.
        take_answers(to);
        require_unbroken();
        if (to.is_complete) co_return;
        if (PQstatus(raw_.get()) == CONNECTION_OK) {
            using interest = socket_watch::interest;
            const auto wanted = is_flushed ? interest::read : interest::both;
            const bool is_in_time = co_await watch_.wait(wanted, deadline);
            require_unbroken(); // By abort().
            if (!is_in_time) break_off(lost("no answer in time from the database"));
            require_unbroken();
        }
        const bool is_open = read();
        take_answers(to); // Also at the end: the server may have said why.
        require_unbroken();
        if (to.is_complete) co_return;
        if (!is_open) break_off(to.fault ? *to.fault : end_of_connection());
        require_unbroken();
    }
}

asio::awaitable<void> pipeline::recover(std::string statement, deadline_t deadline) {
    std::vector<query> queries;
    queries.emplace_back(std::move(statement));
    answers ignored;
    try {
        send(queries);
        co_await collect(ignored, deadline);
    } catch (const postgres_fault&) {
        // The connection is broken now; the fault that is being recovered from says more.
    }
}

asio::awaitable<std::optional<notification>> pipeline::next_notification(deadline_t until) {
    std::optional<notification> next;
    for (;;) {
        require_unbroken();
        if (notifications_.empty() && !read()) break_off(end_of_connection());
        if (!notifications_.empty()) {
            next.emplace(std::move(notifications_.front()));
            notifications_.pop_front();
            co_return next;
        }
        require_unbroken();
        const bool is_in_time = co_await watch_.wait(socket_watch::interest::read, until);
        require_unbroken();
        if (!is_in_time) co_return next;
    }
}

} // namespace streamld::store::postgres
