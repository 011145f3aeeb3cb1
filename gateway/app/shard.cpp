#include "app/shard.hpp"

#include "api/session.hpp"
#include "base/job_log.hpp"

#include <boost/asio/post.hpp>

#include <algorithm>
#include <utility>

namespace streamld::app {

shard::shard(const config& settings, const shard_links& links)
    : config_(settings), work_(loop_.get_executor()), turn_(loop_), watchdog_(loop_),
      hub_(links.engine, links.all_shards, turn_, probes_, settings.hub),
      publisher_(links.engine, probes_, settings.api.store_timeout),
      acceptor_jobs_(turn_, log::failed_jobs_of("app")),
      sessions_(turn_, log::failed_jobs_of("app")),
      services_{
          links.engine,
          hub_,
          links.all_shards,
          publisher_,
          probes_,
          turn_,
          watchdog_,
          connections_,
          config_.api,
          0,
          links.is_draining,
          links.metrics_text,
          links.subscriptions_of},
      connection_context_{turn_, watchdog_, probes_, config_.connections} {
    hub_.join_fanout();
}

shard::~shard() = default;

std::size_t shard::surplus_of(std::size_t connections_max) {
    return std::clamp<std::size_t>(connections_max / 8, 4, 64);
}

void shard::listen(const boost::asio::ip::tcp::endpoint& at, std::size_t connections_max) {
    services_.connections_max = connections_max;
    // Those beyond are accepted to be told so: probes must be answered, and an event stream must
    // not meet a closed door.
    listener_.emplace(loop_, at, connections_max + surplus_of(connections_max), probes_);
}

void shard::start() {
    net::listener::handler handler = [this](boost::asio::ip::tcp::socket socket) {
        accepted(std::move(socket));
    };
    acceptor_jobs_.spawn("listener", listener_->run(std::move(handler)));
    thread_ = std::thread{[this] { loop_.run(); }};
}

void shard::accepted(boost::asio::ip::tcp::socket socket) {
    sessions_.spawn("session", api::run_session(std::move(socket), services_, connection_context_));
}

void shard::begin_drain() {
    publisher_.begin_drain();
    hub_.begin_drain();
    connections_.begin_drain();
}

boost::asio::awaitable<void> shard::await_sessions(std::chrono::steady_clock::time_point deadline) {
    (void)co_await sessions_.join_until(deadline);
}

boost::asio::awaitable<void> shard::finish_sessions(std::chrono::steady_clock::time_point deadline
) {
    (void)co_await sessions_.join_until(deadline);
    listener_->stop();
    co_await acceptor_jobs_.join();
    connections_.abort_all();
    sessions_.cancel();
    co_await sessions_.join();
}

// The watchdog drives every deadline of a session, so it goes on until the last one has ended.
boost::asio::awaitable<void> shard::finish() {
    co_await hub_.close();
    watchdog_.stop();
    work_.reset();
}

boost::asio::awaitable<std::size_t> shard::count_readers(std::string stream) {
    co_return hub_.readers_of(stream);
}

void shard::join() {
    if (thread_.joinable()) thread_.join();
}

} // namespace streamld::app
