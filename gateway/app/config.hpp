#pragma once
// The settings of `streamld serve`, with defaults, units and limits. Read once at start; all faults
// are reported together.

#include "api/settings.hpp"
#include "base/log.hpp"
#include "hub/hub.hpp"
#include "net/http_connection.hpp"
#include "store/open_store.hpp"

#include <boost/asio/ip/tcp.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace streamld::app {

struct config {
    boost::asio::ip::tcp::endpoint listen;        // --listen 127.0.0.1:8080; port 0: a free one.
    std::string store_url = "sqlite:streamld.db"; // --store
    std::size_t shards = 1;        // --shards; one loop on one thread each. Default: one a core.
    bool is_insecure_open = false; // --insecure-open: serve beyond loopback without any key.
    log::level log_level = log::level::info; // --log-level
    api::settings api;
    hub_limits hub;
    net::connection_limits connections;
    store::open_options store;
    std::size_t connections_max =
        0; // --max-connections, all shards together; 0: what the descriptor limit allows.
};

struct config_result {
    config value;
    std::vector<std::string> faults; // Empty: value may be used.
    bool wants_help = false;
};

[[nodiscard]] config_result read_config(std::span<const char* const> arguments);

[[nodiscard]] std::string serve_help();

/// One `name = value` a line, as the gateway would run.
[[nodiscard]] std::string describe(const config& settings);

} // namespace streamld::app
