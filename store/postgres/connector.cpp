#include "store/postgres/connector.hpp"

#include "store/postgres/fault.hpp"
#include "store/postgres/resolver.hpp"
#include "store/postgres/socket_watch.hpp"

#include <libpq-fe.h>

#include <algorithm>
#include <charconv>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace streamld::store::postgres {

namespace {

namespace asio = boost::asio;
using clock = std::chrono::steady_clock;

// libpq's own fallback prints to stderr.
void ignore_notice(void*, const PGresult*) {}

raw_connection start(const dsn& where, const dsn::host& to) {
    std::vector<const char*> names;
    std::vector<const char*> values;
    const auto add = [&](const char* name, const std::string& value) {
        if (value.empty()) return;
        names.push_back(name);
        values.push_back(value.c_str());
    };
    add("host", to.name);
    add("hostaddr", to.address);
    add("port", to.port);
    for (const auto& [name, value] : where.settings())
        if (name != "host" && name != "hostaddr" && name != "port") add(name.c_str(), value);
    names.push_back(nullptr);
    values.push_back(nullptr);
    raw_connection made(PQconnectStartParams(names.data(), values.data(), 0));
    if (!made) throw std::bad_alloc();
    PQsetNoticeReceiver(made.get(), ignore_notice, nullptr);
    return made;
}

std::string shown(const dsn::host& to) {
    const std::string& name = to.name.empty() ? to.address : to.name;
    std::string text = '"' + name + '"';
    if (!to.address.empty() && to.address != name) text += " (" + to.address + ')';
    return text + (to.port.empty() ? "" : ", port " + to.port);
}

postgres_fault no_answer(const dsn::host& to) {
    return {
        errc::unavailable,
        "the database cannot be reached",
        {},
        "no answer in time from the server at " + shown(to)};
}

asio::awaitable<raw_connection>
connect_to(asio::any_io_executor loop, const dsn& where, dsn::host to, deadline_t until) {
    raw_connection made = start(where, to);
    if (PQstatus(made.get()) == CONNECTION_BAD) throw fault_of(*made);
    socket_watch watch(loop);
    auto wanted = socket_watch::interest::write;
    for (;;) {
        watch.watch(PQsocket(made.get()));
        const bool is_in_time = co_await watch.wait(wanted, until);
        // PQconnectPoll may close the socket and open another one with the same number.
        watch.release();
        if (!is_in_time) throw no_answer(to);
        switch (PQconnectPoll(made.get())) {
        case PGRES_POLLING_OK:
            co_return made;
        case PGRES_POLLING_FAILED:
            throw fault_of(*made);
        case PGRES_POLLING_WRITING:
            wanted = socket_watch::interest::write;
            break;
        default:
            wanted = socket_watch::interest::read;
            break;
        }
    }
}

/// An equal share of what is left, for the first of `candidates`.
deadline_t share_of(deadline_t deadline, std::size_t candidates) {
    const auto now = clock::now();
    if (candidates <= 1 || deadline <= now) return deadline;
    return now + (deadline - now) / static_cast<int>(candidates);
}

/// connect_timeout is for each address, as in libpq.
deadline_t capped(deadline_t until, const dsn& where) {
    const std::string text = where.value_of("connect_timeout");
    int seconds = 0;
    std::from_chars(text.data(), text.data() + text.size(), seconds);
    if (seconds <= 0) return until;
    return std::min(until, deadline_t(clock::now() + std::chrono::seconds(seconds)));
}

} // namespace

void finish_connection::operator()(pg_conn* raw) const noexcept {
    PQfinish(raw);
}

asio::awaitable<raw_connection>
connect(asio::any_io_executor loop, const dsn& where, deadline_t deadline) {
    const std::vector<dsn::host> hosts = where.hosts();
    std::optional<postgres_fault> last_fault;
    for (std::size_t host = 0; host < hosts.size(); ++host) {
        const deadline_t hosts_end = share_of(deadline, hosts.size() - host);
        std::vector<dsn::host> addresses;
        try {
            addresses = co_await resolve(loop, hosts[host], hosts_end);
        } catch (const postgres_fault& fault) {
            last_fault.emplace(fault);
        }
        for (std::size_t i = 0; i < addresses.size(); ++i) {
            const deadline_t until = capped(share_of(hosts_end, addresses.size() - i), where);
            try {
                raw_connection made = co_await connect_to(loop, where, addresses[i], until);
                co_return made;
            } catch (const postgres_fault& fault) {
                last_fault.emplace(fault);
            }
        }
    }
    throw *last_fault;
}

} // namespace streamld::store::postgres
