#pragma once
// One coarse clock per shard for all that has to be looked at now and then: heartbeats, pings,
// deadlines of reads and writes. Ticks every `period` while it has members; a member costs a list
// hook, not a timer. Single thread.

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/intrusive/list.hpp>

#include <chrono>
#include <functional>

namespace streamld {

class watchdog {
public:
    using clock = std::chrono::steady_clock;

    class member : public boost::intrusive::list_base_hook<
                       boost::intrusive::link_mode<boost::intrusive::auto_unlink>> {
    public:
        /// `look` is called at each tick. It may notify wakeups, push bytes and close sockets; it
        /// must not create or destroy members.
        member(watchdog& owner, std::function<void(clock::time_point)> look);
        member(const member&) = delete;
        member& operator=(const member&) = delete;

    private:
        friend class watchdog;
        std::function<void(clock::time_point)> look_;
    };

    explicit watchdog(
        boost::asio::io_context& loop,
        std::chrono::milliseconds period = std::chrono::milliseconds{250}
    );
    watchdog(const watchdog&) = delete;
    watchdog& operator=(const watchdog&) = delete;

    [[nodiscard]] std::chrono::milliseconds period() const noexcept { return period_; }

    /// Lets the loop run dry: no more ticks.
    void stop();

private:
    friend class member;
    void arm();
    void tick();

    boost::asio::steady_timer timer_;
    std::chrono::milliseconds period_;
    boost::intrusive::list<member, boost::intrusive::constant_time_size<false>> members_;
    bool is_armed_ = false;
    bool is_stopped_ = false;
};

} // namespace streamld
