#pragma once
// A connection's only way out. Takes whole pieces (shared immutable frames, small control texts,
// Beast's own writes), keeps their order, and sends what has gathered with one gather write at the
// end of the shard's turn. Never blocks the pusher: who has more to say than `high_water` waits
// until it is ready again. Bytes in flight are all it holds, so a slow reader costs those. No piece
// is ever split by another. Single thread; lives in its connection.

#include "base/turn.hpp"
#include "base/wakeup.hpp"
#include "metrics/probes.hpp"

#include <boost/asio/ip/tcp.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

namespace streamld::net {

/// Bytes and whoever keeps them alive; no owner for literals.
struct piece {
    std::shared_ptr<const void> owner;
    std::string_view bytes;
};

class outbox {
public:
    using clock = std::chrono::steady_clock;

    outbox(
        boost::asio::ip::tcp::socket& socket, turn& owner, probes& counters, std::size_t high_water
    );
    ~outbox();
    outbox(const outbox&) = delete;
    outbox& operator=(const outbox&) = delete;

    /// Queues whole pieces; they leave at the end of this turn. Ignored once closed or sealed.
    void push(piece whole);
    void push_copy(std::string_view text);

    /// Tries to send now what is queued (one sendmsg); for request and answer.
    void flush();

    /// May a stream push more? False while more than `high_water` bytes wait, and when closed.
    [[nodiscard]] bool is_ready() const noexcept {
        return !is_closed() && pending_bytes_ < high_water_;
    }

    /// Closed or sealed: what is pushed goes nowhere.
    [[nodiscard]] bool is_closed() const noexcept { return is_closed_ || is_sealed_; }

    [[nodiscard]] std::size_t pending_bytes() const noexcept { return pending_bytes_; }

    /// `waiting` is notified whenever the outbox becomes ready, empty or closed, until it is
    /// unwatched.
    void watch(wakeup& waiting);
    void unwatch(wakeup& waiting) noexcept;

    /// The last word is queued: what is queued goes out, what is pushed from now on is ignored.
    void seal() noexcept;

    /// Forgets what has not begun to leave, so that a last word may follow the piece that has. Time
    /// counts anew.
    void keep_only_started() noexcept;

    /// Nothing more goes out (peer gone, write failed or stuck, end of life). Queued pieces are
    /// dropped.
    void close() noexcept;

    /// Since when bytes have been waiting without progress; time_point::max() where none wait.
    [[nodiscard]] clock::time_point stuck_since() const noexcept;

    /// When something was last pushed (for heartbeats).
    [[nodiscard]] clock::time_point last_push() const noexcept { return last_push_; }

    /// Returns when nothing waits any more or it is closed: true if all bytes went to the kernel.
    boost::asio::awaitable<bool> drained();

private:
    [[nodiscard]] std::size_t send_once();
    void drop_sent(std::size_t bytes) noexcept;
    void wait_for_socket();
    void notify_watchers() noexcept;

    boost::asio::ip::tcp::socket& socket_;
    turn& turn_;
    probes& probes_;
    std::size_t high_water_;
    std::size_t pending_bytes_ = 0;
    bool is_closed_ = false;
    bool is_sealed_ = false;
    turn::task flush_task_;
    // A vector and the place of its first unsent piece: nothing is allocated while nothing waits.
    std::vector<piece> pieces_;
    std::size_t front_ = 0;
    std::size_t front_sent_ = 0;
    std::vector<wakeup*> watchers_;
    // Shared with the handler that waits for the socket, which may outlive this object. Null while
    // none waits.
    std::shared_ptr<outbox*> waiting_;
    clock::time_point last_progress_{};
    clock::time_point last_push_{};
};

} // namespace streamld::net
