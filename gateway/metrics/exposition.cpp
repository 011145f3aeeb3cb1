#include "metrics/exposition.hpp"

#include <array>
#include <charconv>
#include <cmath>

namespace streamld {

namespace {

using shard_list = std::span<const probes* const>;

constexpr std::array<std::string_view, transport_count> transports{
    "sse", "websocket", "longpoll", "ndjson"};
constexpr std::array<std::string_view, ending_count> endings{
    "client_left", "finished", "gap", "replaced", "stuck", "shutdown", "store_failed", "expired"};
constexpr std::array<std::string_view, gap_reason_count> gap_reasons{"trimmed", "ahead", "epoch"};

std::string number_text(double value) {
    if (std::isinf(value)) return "+Inf";
    std::array<char, 32> digits{};
    const auto [end, fault] = std::to_chars(digits.data(), digits.data() + digits.size(), value);
    return std::string(digits.data(), end);
}

/// Writes families one after the other: HELP, TYPE, samples. Every name gets the prefix here.
class writer {
public:
    void family(std::string_view name, std::string_view type, std::string_view help) {
        name_ = "streamld_" + std::string(name);
        text_ += "# HELP " + name_ + ' ' + std::string(help) + '\n';
        text_ += "# TYPE " + name_ + ' ' + std::string(type) + '\n';
    }

    void sample(std::string_view labels, const std::string& value, std::string_view suffix = {}) {
        text_.append(name_).append(suffix);
        if (!labels.empty()) text_.append("{").append(labels).append("}");
        text_.append(" ").append(value).append("\n");
    }

    void sample(std::string_view labels, std::uint64_t value) {
        sample(labels, std::to_string(value));
    }

    void counter(std::string_view name, std::string_view help, std::uint64_t value) {
        family(name, "counter", help);
        sample({}, value);
    }

    void gauge(std::string_view name, std::string_view help, std::uint64_t value) {
        family(name, "gauge", help);
        sample({}, value);
    }

    [[nodiscard]] std::string take() { return std::move(text_); }

private:
    std::string text_;
    std::string name_;
};

std::string label(std::string_view name, std::string_view value) {
    return std::string(name) + "=\"" + std::string(value) + '"';
}

template <class Read>
std::uint64_t sum(shard_list shards, Read read) {
    std::uint64_t total = 0;
    for (const auto* shard : shards)
        total += read(*shard);
    return total;
}

std::uint64_t sum(shard_list shards, counter probes::*which) {
    return sum(shards, [which](const probes& shard) { return (shard.*which).value(); });
}

std::uint64_t readers_ended(shard_list shards, std::size_t by, std::size_t why) {
    return sum(shards, [=](const probes& shard) { return shard.readers_ended[by][why].value(); });
}

void write_connections(writer& out, shard_list shards) {
    out.gauge("connections", "Open connections.", sum(shards, [](const probes& shard) {
                  return shard.connections();
              }));
    out.counter(
        "connections_opened_total",
        "Connections accepted.",
        sum(shards, &probes::connections_opened)
    );
    out.counter(
        "accepts_failed_total",
        "Connections that could not be accepted.",
        sum(shards, &probes::accepts_failed)
    );
    out.counter("sent_bytes_total", "Bytes written to clients.", sum(shards, &probes::sent_bytes));
    out.counter(
        "send_calls_total", "System calls that wrote them.", sum(shards, &probes::send_calls)
    );
    out.family("http_responses_total", "counter", "Answers by class of status.");
    for (std::size_t i = 1; i < 6; ++i)
        out.sample(label("class", std::to_string(i) + "xx"), sum(shards, [i](const probes& shard) {
                       return shard.answers[i].value();
                   }));
}

void write_publishes(writer& out, shard_list shards) {
    out.counter(
        "events_published_total",
        "Events stored by this gateway.",
        sum(shards, &probes::events_published)
    );
    out.counter(
        "publishes_refused_total",
        "Publishes refused as busy or while draining.",
        sum(shards, &probes::publishes_refused)
    );
}

void write_readers(writer& out, shard_list shards) {
    const auto opened = [shards](std::size_t by) {
        return sum(shards, [by](const probes& shard) { return shard.readers_opened[by].value(); });
    };
    out.family("readers", "gauge", "Readers being served.");
    for (std::size_t by = 0; by < transport_count; ++by) {
        // The endings first: a reader that ends in between must not make this negative.
        std::uint64_t ended = 0;
        for (std::size_t why = 0; why < ending_count; ++why)
            ended += readers_ended(shards, by, why);
        const auto begun = opened(by);
        out.sample(label("transport", transports[by]), begun > ended ? begun - ended : 0);
    }
    out.family("readers_opened_total", "counter", "Readers that began.");
    for (std::size_t by = 0; by < transport_count; ++by)
        out.sample(label("transport", transports[by]), opened(by));
    out.family("readers_ended_total", "counter", "Readers that ended, and why.");
    for (std::size_t by = 0; by < transport_count; ++by)
        for (std::size_t why = 0; why < ending_count; ++why)
            out.sample(
                label("transport", transports[by]) + ',' + label("reason", endings[why]),
                readers_ended(shards, by, why)
            );
    out.family("events_delivered_total", "counter", "Events given to readers.");
    for (std::size_t by = 0; by < transport_count; ++by)
        out.sample(label("transport", transports[by]), sum(shards, [by](const probes& shard) {
                       return shard.deliveries[by].value();
                   }));
    out.family("gaps_total", "counter", "Gap signals told to readers.");
    for (std::size_t why = 0; why < gap_reason_count; ++why)
        out.sample(label("reason", gap_reasons[why]), sum(shards, [why](const probes& shard) {
                       return shard.gaps[why].value();
                   }));
}

void write_histogram(
    writer& out,
    shard_list shards,
    std::string_view name,
    std::string_view help,
    histogram probes::*which
) {
    out.family(name, "histogram", help);
    std::uint64_t at_most = 0; // Buckets are cumulative.
    for (std::size_t i = 0; i < histogram::buckets; ++i) {
        at_most += sum(shards, [=](const probes& shard) { return (shard.*which).count(i); });
        out.sample(
            label("le", number_text(histogram::upper_bound(i))), std::to_string(at_most), "_bucket"
        );
    }
    double seconds = 0;
    for (const auto* shard : shards)
        seconds += (shard->*which).sum_seconds();
    out.sample({}, number_text(seconds), "_sum");
    out.sample({}, std::to_string(at_most), "_count");
}

void write_store(writer& out, shard_list shards, const store::engine_figures& figures) {
    out.counter(
        "store_reads_total",
        "Pages read from the store for readers.",
        sum(shards, &probes::store_reads)
    );
    out.gauge("store_bytes", "Size of the store.", figures.store_bytes);
    out.gauge("store_log_bytes", "Size of the store's write-ahead log.", figures.log_bytes);
    out.gauge(
        "store_waiting_appends", "Publishes waiting for the writer.", figures.waiting_appends
    );
    out.gauge(
        "store_wakes_by_polling",
        "1 while commits of other processes are noticed by polling alone.",
        figures.is_woken_by_polling ? 1 : 0
    );
    out.gauge("store_connections", "Connections to the database server.", figures.connections);
    out.counter(
        "store_reconnects_total",
        "Times that the connection listening for notifications broke.",
        figures.reconnects
    );
    out.gauge(
        "store_held_streams",
        "Streams whose publishes wait for another program's transaction.",
        figures.held_streams
    );
    out.gauge(
        "tail_bytes",
        "Memory of the streams' newest frames.",
        sum(shards,
            [](const probes& shard) { return shard.tail_bytes.load(std::memory_order_relaxed); })
    );
}

void write_process(writer& out, const process_figures& process, std::string_view version) {
    out.family("build_info", "gauge", "The program's version.");
    out.sample(label("version", version), 1);
    out.gauge("process_resident_memory_bytes", "Resident memory.", process.resident_bytes);
    out.gauge("process_open_fds", "Open file descriptors.", process.open_files);
    out.gauge("process_max_fds", "How many file descriptors may be open.", process.open_files_max);
    out.family("process_cpu_seconds_total", "counter", "Processor time used.");
    out.sample({}, number_text(process.cpu_seconds));
}

} // namespace

std::string exposition(
    shard_list shards,
    const store::engine_figures& figures,
    const process_figures& process,
    std::string_view version
) {
    writer out;
    write_connections(out, shards);
    write_publishes(out, shards);
    write_histogram(
        out,
        shards,
        "publish_duration_seconds",
        "From a publish to its durable answer.",
        &probes::publish_time
    );
    write_readers(out, shards);
    write_histogram(
        out,
        shards,
        "commit_to_wire_seconds",
        "From noticing a commit to the event's leaving.",
        &probes::commit_to_wire
    );
    write_store(out, shards, figures);
    write_process(out, process, version);
    return out.take();
}

} // namespace streamld
