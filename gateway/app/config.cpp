#include "app/config.hpp"

#include "api/parameters.hpp"

#include <boost/asio/ip/address.hpp>
#include <boost/program_options.hpp>

#include <algorithm>
#include <charconv>
#include <optional>
#include <sstream>
#include <thread>
#include <utility>

namespace streamld::app {

namespace {

namespace options = boost::program_options;
using std::chrono::milliseconds;

constexpr std::size_t shards_max = 64;

std::size_t default_shards() {
    return std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, shards_max);
}

options::options_description descriptions() {
    options::options_description all{"streamld serve"};
    const auto text = [] { return options::value<std::string>(); };
    // clang-format off
    all.add_options()
        ("listen", text()->default_value("127.0.0.1:8080"), "address and port; port 0 takes a free one")
        ("store", text()->default_value("sqlite:streamld.db"), "sqlite:PATH or postgres://USER@HOST/DATABASE")
        ("shards", text(), "event loops, one thread each (default: one a core)")
        ("heartbeat", text()->default_value("15s"), "longest silence on an event stream")
        ("drain", text()->default_value("10s"), "time for clients to leave after SIGTERM")
        ("poll-interval", text()->default_value("1s"), "fallback look for commits of other processes")
        ("postgres-listen-url", text()->default_value(""), "where to LISTEN, if --store is a transaction pooler")
        ("postgres-notify", text()->default_value("on"), "on: wake by LISTEN/NOTIFY; off: by polling alone")
        ("postgres-connections", text()->default_value("8"), "connections for reads (about 8 more are for writing)")
        ("max-payload", text()->default_value("1048576"), "bytes of one event (at most 16777216)")
        ("max-batch", text()->default_value("10000"), "events of one NDJSON publish")
        ("max-body", text()->default_value("16777216"), "bytes of one request body")
        ("max-connections", text()->default_value("0"), "open connections, all shards together (0: what the file limit allows)")
        ("public-url", text()->default_value(""), "URL that clients use, e.g. https://events.example")
        ("allow-origin", options::value<std::vector<std::string>>(), "a web origin that may read and publish (repeatable)")
        ("insecure-open", options::bool_switch(), "serve beyond loopback without authentication")
        ("log-level", text()->default_value("info"), "debug, info, warning or error")
        ("help", options::bool_switch(), "print this");
    // clang-format on
    return all;
}

/// Collects what is wrong, so that one start shows every fault.
class reader {
public:
    reader(const options::variables_map& values, std::vector<std::string>& faults)
        : values_(values), faults_(faults) {}

    [[nodiscard]] std::string text(const char* name) const {
        return values_[name].as<std::string>();
    }

    void number(const char* name, std::size_t least, std::size_t most, std::size_t& out) {
        if (values_.count(name) == 0) return;
        const auto value = api::parse_offset(text(name));
        if (!value || static_cast<std::size_t>(*value) < least ||
            static_cast<std::size_t>(*value) > most)
            fault(
                name, "is a number from " + std::to_string(least) + " to " + std::to_string(most)
            );
        else
            out = static_cast<std::size_t>(*value);
    }

    void duration(const char* name, milliseconds least, milliseconds most, milliseconds& out) {
        const auto value = parse_duration(text(name));
        if (!value || *value < least || *value > most)
            fault(
                name,
                "is a duration such as 500ms, 15s or 2m, from " + std::to_string(least.count()) +
                    "ms to " + std::to_string(most.count()) + "ms"
            );
        else
            out = *value;
    }

    void fault(const std::string& name, const std::string& must) {
        faults_.push_back("--" + name + " " + must);
    }

private:
    static std::optional<milliseconds> parse_duration(const std::string& text) {
        const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
        const auto value = api::parse_offset(std::string_view{text}.substr(0, digits));
        const std::string_view unit = std::string_view{text}.substr(digits);
        if (!value || *value > 1'000'000'000) return std::nullopt;
        if (unit == "ms") return milliseconds{*value};
        if (unit == "s") return milliseconds{*value * 1000};
        if (unit == "m") return milliseconds{*value * 60'000};
        return std::nullopt;
    }

    const options::variables_map& values_;
    std::vector<std::string>& faults_;
};

std::optional<boost::asio::ip::tcp::endpoint> parse_endpoint(std::string text) {
    const std::size_t colon = text.rfind(':');
    if (colon == std::string::npos) return std::nullopt;
    const auto port = api::parse_offset(std::string_view{text}.substr(colon + 1));
    std::string host = text.substr(0, colon);
    if (host == "localhost") host = "127.0.0.1";
    if (host.size() > 2 && host.front() == '[' && host.back() == ']')
        host = host.substr(1, host.size() - 2);
    boost::system::error_code fault;
    const auto address = boost::asio::ip::make_address(host, fault);
    if (fault || !port || *port > 65535) return std::nullopt;
    return boost::asio::ip::tcp::endpoint{address, static_cast<std::uint16_t>(*port)};
}

void read_listen(reader& from, bool is_insecure_open, config& to) {
    const auto endpoint = parse_endpoint(from.text("listen"));
    if (!endpoint) {
        from.fault("listen", "is ADDRESS:PORT, e.g. 127.0.0.1:8080 or [::1]:8080");
        return;
    }
    to.listen = *endpoint;
    to.is_insecure_open = is_insecure_open;
    to.api.is_loopback = endpoint->address().is_loopback();
    if (!to.api.is_loopback && !is_insecure_open)
        from.fault(
            "listen",
            "beyond loopback would let anyone read and publish; keep it on 127.0.0.1 behind a "
            "proxy, or say --insecure-open"
        );
}

void read_log_level(reader& from, config& to) {
    const std::string level = from.text("log-level");
    if (level == "debug")
        to.log_level = log::level::debug;
    else if (level == "info")
        to.log_level = log::level::info;
    else if (level == "warning")
        to.log_level = log::level::warning;
    else if (level == "error")
        to.log_level = log::level::error;
    else
        from.fault("log-level", "is debug, info, warning or error");
}

void read_urls(reader& from, const options::variables_map& values, config& to) {
    const auto is_web_url = [](std::string_view url) {
        return url.starts_with("http://") || url.starts_with("https://");
    };
    to.api.public_url = from.text("public-url");
    while (to.api.public_url.ends_with('/'))
        to.api.public_url.pop_back();
    if (!to.api.public_url.empty() && !is_web_url(to.api.public_url))
        from.fault("public-url", "begins with http:// or https://");
    if (values.count("allow-origin") > 0)
        to.api.allowed_origins = values["allow-origin"].as<std::vector<std::string>>();
    for (const std::string& origin : to.api.allowed_origins)
        if (origin != "*" &&
            (!is_web_url(origin) || origin.find('/', origin.find("//") + 2) != std::string::npos))
            from.fault("allow-origin", "is an origin such as https://app.example, without a path");
}

void read_postgres(reader& from, config& to) {
    store::postgres_options& postgres = to.store.postgres;
    postgres.listen_url = from.text("postgres-listen-url");
    if (!postgres.listen_url.empty()) {
        const std::string fault = store::fault_of_store_url(postgres.listen_url);
        if (!store::is_postgres_url(postgres.listen_url)) {
            from.fault("postgres-listen-url", "begins with postgres://");
        } else if (!fault.empty()) {
            from.fault("postgres-listen-url", "names no server: " + fault);
        }
    }
    const std::string notify = from.text("postgres-notify");
    if (notify != "on" && notify != "off") from.fault("postgres-notify", "is on or off");
    postgres.notify = notify != "off";
    from.number("postgres-connections", 1, 1000, postgres.connections_max);
}

void read_values(const options::variables_map& values, config_result& result) {
    config& to = result.value;
    reader from{values, result.faults};
    read_listen(from, values["insecure-open"].as<bool>(), to);
    to.store_url = from.text("store");
    const std::string store_fault = store::fault_of_store_url(to.store_url);
    if (!store_fault.empty()) from.fault("store", "names no store: " + store_fault);
    read_postgres(from, to);
    to.shards = default_shards();
    from.number("shards", 1, shards_max, to.shards);
    from.duration("heartbeat", milliseconds{500}, milliseconds{300'000}, to.api.heartbeat);
    from.duration("drain", milliseconds{0}, milliseconds{600'000}, to.api.drain);
    from.duration("poll-interval", milliseconds{10}, milliseconds{60'000}, to.store.poll_interval);
    from.number("max-payload", 1, store::payload_bytes_max, to.api.payload_bytes_max);
    from.number("max-batch", 1, 1'000'000, to.api.batch_events_max);
    from.number("max-body", 1, std::size_t{1} << 30, to.api.body_bytes_max);
    from.number("max-connections", 0, 10'000'000, to.connections_max);
    read_urls(from, values, to);
    read_log_level(from, to);
}

} // namespace

config_result read_config(std::span<const char* const> arguments) {
    config_result result;
    try {
        options::variables_map values;
        const std::vector<std::string> words{arguments.begin(), arguments.end()};
        namespace style = options::command_line_style;
        // Long names only, never guessed from their beginning: a typo is a fault.
        const int long_names =
            style::allow_long | style::long_allow_adjacent | style::long_allow_next;
        options::options_description known = descriptions();
        known.add_options()("stray", options::value<std::vector<std::string>>());
        // No words but options; one that strays is named, which Boost does not.
        options::positional_options_description stray;
        stray.add("stray", -1);
        options::store(
            options::command_line_parser{words}
                .options(known)
                .positional(stray)
                .style(long_names)
                .run(),
            values
        );
        options::notify(values);
        result.wants_help = values["help"].as<bool>();
        if (values.count("stray") > 0)
            for (const std::string& word : values["stray"].as<std::vector<std::string>>())
                result.faults.push_back("'" + word + "' is no option");
        read_values(values, result);
    } catch (const options::error& fault) {
        result.faults.emplace_back(fault.what());
    }
    return result;
}

std::string serve_help() {
    std::ostringstream out;
    out << descriptions();
    return out.str();
}

std::string describe(const config& settings) {
    std::ostringstream out;
    out << "listen = " << settings.listen
        << "\nstore = " << store::printable_store_url(settings.store_url)
        << "\nshards = " << settings.shards << "\nheartbeat = " << settings.api.heartbeat.count()
        << "ms\ndrain = " << settings.api.drain.count()
        << "ms\npoll-interval = " << settings.store.poll_interval.count()
        << "ms\npostgres-listen-url = "
        << store::printable_store_url(settings.store.postgres.listen_url)
        << "\npostgres-notify = " << (settings.store.postgres.notify ? "on" : "off")
        << "\npostgres-connections = " << settings.store.postgres.connections_max
        << "\nmax-payload = " << settings.api.payload_bytes_max
        << "\nmax-batch = " << settings.api.batch_events_max
        << "\nmax-body = " << settings.api.body_bytes_max
        << "\nmax-connections = " << settings.connections_max
        << "\npublic-url = " << settings.api.public_url << "\n";
    for (const std::string& origin : settings.api.allowed_origins)
        out << "allow-origin = " << origin << "\n";
    return out.str();
}

} // namespace streamld::app
