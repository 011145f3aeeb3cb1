#include "store/postgres/resolver.hpp"

#include "store/postgres/fault.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

namespace streamld::store::postgres {

namespace {

namespace asio = boost::asio;
using tcp = asio::ip::tcp;

constexpr auto nothrow = asio::as_tuple(asio::use_awaitable);

// A lookup cannot be interrupted, so the coroutine waits on the timer and may leave first.
struct lookup {
    explicit lookup(const asio::any_io_executor& loop) : resolver(loop), timer(loop) {}

    tcp::resolver resolver;
    asio::steady_timer timer;
    bool is_done = false;
    boost::system::error_code failure;
    std::vector<std::string> addresses;
};

void note_answer(
    lookup& asked,
    const boost::system::error_code& failure,
    const tcp::resolver::results_type& found
) {
    asked.is_done = true;
    asked.failure = failure;
    for (const auto& entry : found) {
        std::string address = entry.endpoint().address().to_string();
        if (std::find(asked.addresses.begin(), asked.addresses.end(), address) ==
            asked.addresses.end())
            asked.addresses.push_back(std::move(address));
    }
    asked.timer.cancel();
}

std::shared_ptr<lookup> begin(const asio::any_io_executor& loop, const std::string& name) {
    auto asked = std::make_shared<lookup>(loop);
    asked->resolver.async_resolve(
        name,
        "",
        // Without the default "address_configured", which forgets localhost on a desk with no
        // network.
        tcp::resolver::flags(),
        [weak = std::weak_ptr(asked
         )](const boost::system::error_code& failure, const tcp::resolver::results_type& found) {
            if (const auto self = weak.lock()) note_answer(*self, failure, found);
        }
    );
    return asked;
}

bool needs_lookup(const dsn::host& named) {
    if (!named.address.empty() || named.name.empty()) return false;
    if (named.name.front() == '/' || named.name.front() == '@') return false; // A Unix socket.
    boost::system::error_code not_numeric;
    asio::ip::make_address(named.name, not_numeric);
    return static_cast<bool>(not_numeric);
}

postgres_fault unresolved(const dsn::host& named, const std::string& why) {
    return {
        errc::unavailable,
        "the database cannot be reached",
        {},
        "the name \"" + named.name + "\" was not resolved: " + why};
}

} // namespace

asio::awaitable<std::vector<dsn::host>>
resolve(asio::any_io_executor loop, dsn::host named, deadline_t deadline) {
    std::vector<dsn::host> all;
    if (!needs_lookup(named)) {
        all.push_back(std::move(named));
        co_return all;
    }
    const auto asked = begin(loop, named.name);
    while (!asked->is_done && std::chrono::steady_clock::now() < deadline) {
        asked->timer.expires_at(deadline);
        co_await asked->timer.async_wait(nothrow);
    }
    if (!asked->is_done) throw unresolved(named, "no answer in time");
    if (asked->failure) throw unresolved(named, asked->failure.message());
    for (const std::string& address : asked->addresses) {
        dsn::host one = named;
        one.address = address;
        all.push_back(std::move(one));
    }
    co_return all;
}

} // namespace streamld::store::postgres
