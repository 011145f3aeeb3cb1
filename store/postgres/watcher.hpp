#pragma once
// Notices what others have published. Notifications are heard on a connection of its own that never
// sits in a transaction and never waits for anybody but the server; a poll looks each interval
// whatever happens, and is all there is where notifications do not arrive (a transaction pooler, a
// standby) or are not wanted. Whether they arrive is tried, not assumed: the listener asks itself a
// question at its start and every few seconds. After every reconnect the observer is told to look
// at everything. The engine's loop.

#include "store/open_store.hpp"
#include "store/postgres/engine_loop.hpp"
#include "store/postgres/group_commit.hpp"
#include "store/postgres/notifier.hpp"
#include "store/postgres/pool.hpp"

#include <atomic>
#include <memory>
#include <string>
#include <unordered_map>

namespace streamld::store::postgres {

class watcher {
public:
    /// `listen_at` is where to LISTEN; it and the pools outlive the watcher.
    watcher(
        engine_loop& loop,
        const dsn& listen_at,
        pool& background,
        store_observer& observer,
        const open_options& options
    );

    void start();

    /// These heads the observer knows already.
    void saw_own(commit_report appends);

    /// Look now.
    void poke() noexcept;

    void close() noexcept;

    // Any thread.

    [[nodiscard]] bool is_by_polling() const noexcept { return !is_notified_.load(); }

    [[nodiscard]] std::uint64_t reconnects() const noexcept { return reconnects_.load(); }

    [[nodiscard]] bool is_listening() const noexcept { return is_listening_.load(); }

private:
    boost::asio::awaitable<void> poll();
    boost::asio::awaitable<void> look();
    boost::asio::awaitable<void> listen();
    boost::asio::awaitable<void> listen_once();
    boost::asio::awaitable<void> hear(connection& ear);
    boost::asio::awaitable<void> ask_itself(std::string nonce);
    bool take(const notification& heard, const std::string& nonce);
    void tell(std::vector<store_observer::grown_stream> streams);
    void set_notified(bool is_notified);

    engine_loop& loop_;
    const dsn& listen_at_;
    pool& background_;
    store_observer& observer_;
    const open_options& options_;
    trouble_report poll_trouble_;
    trouble_report listen_trouble_;

    std::string snapshot_; // Of the last poll; empty: look at everything.
    std::unordered_map<std::string, offset_t> known_; // Told since the last poll.
    std::unique_ptr<connection> ear_;
    std::string name_; // Tells its questions from those of other gateways.
    std::uint64_t question_ = 0;
    signal poll_now_;
    signal closing_;
    bool must_look_ = false;
    bool is_closing_ = false;
    std::atomic<bool> is_notified_{false};
    std::atomic<bool> is_listening_{false};
    std::atomic<std::uint64_t> reconnects_{0};
};

} // namespace streamld::store::postgres
