// The store as a library: a business row and its event in one transaction, taken back once and
// committed once.

#include "store/store.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <iostream>
#include <stdexcept>

namespace asio = boost::asio;
using streamld::store::event_store;
using streamld::store::tx_handle;

asio::awaitable<void> place_order(tx_handle& tx, bool is_paid) {
    std::vector<tx_handle::sql_value> none;
    co_await tx.execute(
        "CREATE TABLE IF NOT EXISTS shop_order (id INTEGER PRIMARY KEY)", std::move(none)
    );
    std::vector<tx_handle::sql_value> none_either;
    co_await tx.execute("INSERT INTO shop_order DEFAULT VALUES", std::move(none_either));
    co_await tx.publish_tx("orders", R"({"placed":true})");
    if (!is_paid) throw std::runtime_error("not paid");
}

asio::awaitable<bool> sell(event_store& store) {
    try {
        auto unpaid = [](tx_handle& tx) { return place_order(tx, false); };
        co_await store.transaction(std::move(unpaid));
    } catch (const std::runtime_error&) {
        std::cout << "the unpaid order left neither row nor event\n";
    }
    auto paid = [](tx_handle& tx) { return place_order(tx, true); };
    co_await store.transaction(std::move(paid));
    auto orders = store.stream_named("orders");
    const auto events = co_await orders.read_since(0, 10);
    co_await store.close();
    co_return events.size() == 1 && events.front().offset == 1;
}

int main() {
    bool is_right = false;
    asio::io_context loop;
    const auto store = event_store::open("sqlite:outbox.db");
    asio::co_spawn(loop, sell(*store), [&](std::exception_ptr fault, bool right) {
        is_right = !fault && right;
    });
    loop.run();
    std::cout << (is_right ? "one order, one event\n" : "something is wrong\n");
    return is_right ? 0 : 1;
}
