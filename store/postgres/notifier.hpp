#pragma once
// Tells the other gateways what this one has committed: NOTIFY, coalesced, after the commit and on
// a connection of its own, since a transaction that notifies takes a lock of the whole database
// when it commits. A hint only: what cannot be told is forgotten, and the others' polls find it.
// The engine's loop.

#include "store/postgres/engine_loop.hpp"
#include "store/postgres/group_commit.hpp"
#include "store/postgres/pool.hpp"

#include <map>
#include <string>
#include <vector>

namespace streamld::store::postgres {

/// What a notification says: lines of `<head> <stream>`, or "*" (look yourself), or "? <nonce>" (a
/// listener's question to itself).
struct hint {
    bool is_look = false;
    std::string nonce;
    std::vector<store_observer::grown_stream> streams;
};

/// Never throws: what it does not understand is "look yourself".
[[nodiscard]] hint read_hint(const std::string& payload);

class notifier {
public:
    notifier(engine_loop& loop, pool& background);

    void start();
    void add(commit_report appends);
    void close() noexcept;

private:
    boost::asio::awaitable<void> serve();
    [[nodiscard]] std::vector<std::string> take_payloads();

    engine_loop& loop_;
    pool& background_;
    std::map<std::string, offset_t> heads_; // Not told yet.
    signal changed_;
    signal pause_;
    bool is_closing_ = false;
};

} // namespace streamld::store::postgres
