#include "app/app.hpp"

#include "app/shard.hpp"
#include "base/log.hpp"
#include "base/nothrow.hpp"
#include "hub/frame.hpp"
#include "metrics/exposition.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <sys/resource.h>
#include <utility>
#include <vector>

namespace streamld::app {

namespace {

constexpr std::size_t reserved_descriptors = 64; // For the store's files and the process itself.

/// Raises the limit as far as it goes; how many descriptors connections may have.
std::size_t raise_descriptor_limit() {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1024 - reserved_descriptors;
    limit.rlim_cur = limit.rlim_max;
    (void)::setrlimit(RLIMIT_NOFILE, &limit);
    (void)::getrlimit(RLIMIT_NOFILE, &limit);
    const std::size_t descriptors = std::min<std::size_t>(limit.rlim_cur, 10'000'000);
    return descriptors > 2 * reserved_descriptors ? descriptors - reserved_descriptors
                                                  : std::max<std::size_t>(descriptors / 2, 1);
}

std::string url_of(const boost::asio::ip::tcp::endpoint& at) {
    std::ostringstream out;
    out << "http://" << at;
    return out.str();
}

void log_trouble(boost::system::error_code code, std::string_view what) {
    if (code)
        log::write(log::level::error, "store", std::string{what}, {{"reason", code.message()}});
    else
        log::write(log::level::info, "store", std::string{what});
}

/// The gateway as it runs. Members stand in the order in which they are built; they go in reverse.
class gateway {
public:
    explicit gateway(const config& settings)
        : config_(settings), fanout_(&log_trouble),
          engine_(store::open_engine(config_.store_url, config_.store, &fanout_)),
          links_{
              *engine_,
              fanout_,
              is_draining_,
              [this] { return metrics_text(); },
              [this](std::string stream) { return count_readers(std::move(stream)); }} {
        for (std::size_t i = 0; i < config_.shards; ++i)
            shards_.push_back(std::make_unique<shard>(config_, links_));
    }

    // The engine outlives the shards and may have something to say until it has ended.
    ~gateway() { fanout_.close(); }

    gateway(const gateway&) = delete;
    gateway& operator=(const gateway&) = delete;

    /// Binds every shard to one port. `descriptors`: what connections may have.
    void listen(std::size_t descriptors) {
        try {
            endpoint_ = net::claim_endpoint(config_.listen);
        } catch (const boost::system::system_error& fault) {
            std::ostringstream what;
            what << "cannot listen on " << config_.listen << ": " << fault.code().message()
                 << "; --listen takes another address and port";
            throw std::runtime_error{what.str()};
        }
        for (const auto& one : shards_)
            one->listen(endpoint_, connections_of_a_shard(descriptors));
        const std::string url =
            config_.api.public_url.empty() ? url_of(endpoint_) : config_.api.public_url;
        set_jsonld_context_url(url + "/streamld/context.jsonld");
    }

    /// The limit that was set, or what the descriptors allow besides the surplus.
    std::size_t connections_of_a_shard(std::size_t descriptors) const {
        const std::size_t share = std::max<std::size_t>(descriptors / config_.shards, 1);
        const std::size_t surplus = shard::surplus_of(share);
        const std::size_t allowed = share > 2 * surplus ? share - surplus : share;
        if (config_.connections_max == 0) return allowed;
        return std::min(
            allowed, std::max<std::size_t>(config_.connections_max / config_.shards, 1)
        );
    }

    void run() {
        for (const auto& one : shards_)
            one->start();
        announce();
        std::exception_ptr fault;
        boost::asio::co_spawn(loop_, live(), [&fault](std::exception_ptr error) {
            fault = std::move(error);
        });
        loop_.run();
        for (const auto& one : shards_)
            one->join();
        if (fault) std::rethrow_exception(fault);
    }

private:
    void announce() const {
        const std::string url = url_of(endpoint_);
        const std::string socket_url = "ws" + url.substr(4);
        std::cout << "listening on " << url << "\n\n"
                  << "publish:  curl --json '{\"hello\":\"world\"}' " << url
                  << "/streams/demo/events\n"
                  << "watch:    curl -N -H 'Accept: text/event-stream' '" << url
                  << "/streams/demo/events?after=0'\n"
                  << "or:       npx --yes wscat -c '" << socket_url
                  << "/replication?stream=demo&after=0'\n"
                  << std::endl;
    }

    boost::asio::awaitable<void> live() {
        boost::asio::signal_set signals{loop_, SIGTERM, SIGINT};
        const auto [failed, signal] = co_await signals.async_wait(nothrow);
        log::write(
            log::level::info,
            "app",
            "draining",
            {{"signal", std::to_string(signal)},
             {"limit_ms", std::to_string(config_.api.drain.count())}}
        );
        signals.async_wait([](const boost::system::error_code& ec, int) {
            if (!ec) std::_Exit(1); // Asked twice: now.
        });
        is_draining_ = true;
        const auto deadline = std::chrono::steady_clock::now() + config_.api.drain;
        for (const auto& one : shards_)
            boost::asio::post(one->loop(), [leaving = one.get()] { leaving->begin_drain(); });
        // All of them first: the listeners share a port, and one that closes early would reset who
        // has just come to hear that the gateway is going.
        for (const auto& one : shards_) {
            boost::asio::awaitable<void> waiting = one->await_sessions(deadline);
            co_await boost::asio::co_spawn(
                one->loop(), std::move(waiting), boost::asio::use_awaitable
            );
        }
        for (const auto& one : shards_) {
            boost::asio::awaitable<void> leaving = one->finish_sessions(deadline);
            co_await boost::asio::co_spawn(
                one->loop(), std::move(leaving), boost::asio::use_awaitable
            );
        }
        for (const auto& one : shards_) {
            boost::asio::awaitable<void> end = one->finish();
            co_await boost::asio::co_spawn(one->loop(), std::move(end), boost::asio::use_awaitable);
        }
        fanout_.close();
        co_await engine_->close();
        signals.cancel();
        log::write(log::level::info, "app", "ended");
    }

    boost::asio::awaitable<std::size_t> count_readers(std::string stream) {
        std::size_t readers = 0;
        for (const auto& one : shards_) {
            boost::asio::awaitable<std::size_t> count = one->count_readers(stream);
            readers += co_await boost::asio::co_spawn(
                one->loop(), std::move(count), boost::asio::use_awaitable
            );
        }
        co_return readers;
    }

    std::string metrics_text() const {
        std::vector<const probes*> counters;
        for (const auto& one : shards_)
            counters.push_back(&one->counters());
        return exposition(counters, engine_->figures(), read_process_figures(), STREAMLD_VERSION);
    }

    const config& config_;
    boost::asio::io_context loop_{1};
    std::atomic<bool> is_draining_{false};
    fanout fanout_;
    std::unique_ptr<store::engine> engine_;
    shard_links links_;
    std::vector<std::unique_ptr<shard>> shards_;
    boost::asio::ip::tcp::endpoint endpoint_;
};

} // namespace

int serve(const config& settings) {
    // A write to a peer that has left is an error value, not a signal.
    std::signal(SIGPIPE, SIG_IGN);
    log::set_level(settings.log_level);
    const std::size_t descriptors = raise_descriptor_limit();
    try {
        gateway running{settings};
        running.listen(descriptors);
        running.run();
        return EXIT_SUCCESS;
    } catch (const store::error& fault) {
        std::cerr << "streamld: the store cannot be opened: " << fault.detail() << "\n";
    } catch (const std::exception& fault) {
        std::cerr << "streamld: " << fault.what() << "\n";
    }
    return EXIT_FAILURE;
}

} // namespace streamld::app
