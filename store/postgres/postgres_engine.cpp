#include "store/postgres/postgres_engine.hpp"

#include "store/fingerprint.hpp"
#include "store/json_text.hpp"
#include "store/postgres/appender.hpp"
#include "store/postgres/notifier.hpp"
#include "store/postgres/queries.hpp"
#include "store/postgres/reader.hpp"
#include "store/postgres/schema.hpp"
#include "store/postgres/sweeper.hpp"
#include "store/postgres/transaction.hpp"
#include "store/postgres/watcher.hpp"
#include "store/postgres/writes.hpp"
#include "store/silent_observer.hpp"
#include "store/validation.hpp"

#include <algorithm>
#include <optional>

namespace streamld::store::postgres {

namespace {

using boost::asio::awaitable;
using clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr std::size_t writers_max = 1;    // The main lane.
constexpr std::size_t waiters_max = 4;    // The lanes of held streams.
constexpr std::size_t background_max = 3; // The poll, NOTIFY, probes, trims.
constexpr milliseconds probe_memory{1000};
constexpr std::chrono::seconds size_interval{30};
constexpr std::chrono::seconds size_patience{5};

dsn listen_place(const dsn& store, const std::string& listen_url) {
    const dsn place = listen_url.empty() ? store : dsn::parse(listen_url);
    return place.with("application_name", "streamld listen");
}

// The members' order is the order of construction; close() ends them on the loop.
class postgres_engine final : public engine {
public:
    postgres_engine(const dsn& where, const open_options& options, store_observer* observer)
        : observer_(observer != nullptr ? *observer : nobody_), options_(options), where_(where),
          listen_at_(listen_place(where, options.postgres.listen_url)),
          writers_(loop_.executor(), where_, writers_max),
          waiters_(loop_.executor(), where_, waiters_max),
          readers_(
              loop_.executor(), where_, std::max<std::size_t>(options.postgres.connections_max, 1)
          ),
          background_(loop_.executor(), where_, background_max), health_(observer_),
          appender_(
              loop_,
              appender::pools{writers_, waiters_, background_},
              options_,
              observer_,
              health_,
              actions()
          ),
          transactions_(loop_, readers_, actions()), sweeper_(loop_, background_),
          notifier_(loop_, background_),
          watcher_(loop_, listen_at_, background_, observer_, options_),
          measuring_(loop_.executor()) {
        loop_.post([this] { start(); });
    }

    ~postgres_engine() override {
        stop();
        if (closer_.joinable()) closer_.join();
    }

    awaitable<append_outcome> append(append_request request, deadline_t deadline) override {
        require_valid(request);
        checked_append publish;
        if (!request.idempotency_key.empty()) publish.fingerprint = fingerprint_of(request);
        publish.request = std::move(request);
        const append_outcome outcome = co_await appender_.append(std::move(publish), deadline);
        co_return outcome;
    }

    awaitable<event_page> read(read_request request, deadline_t deadline) override {
        require_stream_name(request.stream);
        require_offset(request.after);
        if (!request.key.empty()) require_key(request.key);
        auto work = [request = std::move(request), deadline](connection& db) {
            return read_page(db, request, deadline);
        };
        event_page page = co_await look_up<event_page>(std::move(work), deadline);
        co_return page;
    }

    awaitable<std::optional<stream_info>> info(std::string stream, deadline_t deadline) override {
        require_stream_name(stream);
        auto work = [stream = std::move(stream), deadline](connection& db) {
            return read_info(db, stream, deadline);
        };
        auto found = co_await look_up<std::optional<stream_info>>(std::move(work), deadline);
        co_return found;
    }

    awaitable<position>
    locate(std::string stream, start_point start, std::string key, deadline_t deadline) override {
        require_stream_name(stream);
        if (!key.empty()) require_key(key);
        if (start.kind == start_kind::consumer) require_consumer_name(start.consumer);
        if (start.kind == start_kind::after || start.kind == start_kind::last)
            require_offset(start.value);
        auto work =
            [stream = std::move(stream), start = std::move(start), key = std::move(key), deadline](
                connection& db
            ) { return locate_start(db, stream, start, key, deadline); };
        position found = co_await look_up<position>(std::move(work), deadline);
        co_return found;
    }

    awaitable<std::vector<stream_info>> streams(
        std::string prefix, std::string after, std::size_t limit, deadline_t deadline
    ) override {
        // No name is anything else.
        if (!is_plain_utf8(prefix)) co_return std::vector<stream_info>();
        if (!is_plain_utf8(after)) throw error(errc::invalid_name, "the name is not UTF-8");
        auto work = [prefix = std::move(prefix), after = std::move(after), limit, deadline](
                        connection& db
                    ) { return list_streams(db, prefix, after, limit, deadline); };
        auto found = co_await look_up<std::vector<stream_info>>(std::move(work), deadline);
        co_return found;
    }

    awaitable<created> create(std::string stream, deadline_t deadline) override {
        require_stream_name(stream);
        auto work = [stream = std::move(stream), deadline](connection& db) {
            return create_stream(db, stream, deadline);
        };
        created result = co_await write<created>(std::move(work), deadline);
        co_return result;
    }

    awaitable<trim_outcome> trim(trim_request request, deadline_t deadline) override {
        require_stream_name(request.stream);
        require_offset(request.through);
        auto work = [this, request = std::move(request), deadline](connection& db) {
            return postgres::trim(db, sweeper_, request, deadline);
        };
        trim_outcome outcome = co_await write<trim_outcome>(std::move(work), deadline);
        co_return outcome;
    }

    awaitable<save_outcome> save_offset(
        std::string stream, std::string consumer, offset_t offset, deadline_t deadline
    ) override {
        require_stream_name(stream);
        require_consumer_name(consumer);
        require_offset(offset);
        auto work = [stream = std::move(stream), consumer = std::move(consumer), offset, deadline](
                        connection& db
                    ) { return postgres::save_offset(db, stream, consumer, offset, deadline); };
        const save_outcome outcome = co_await write<save_outcome>(std::move(work), deadline);
        co_return outcome;
    }

    awaitable<offset_t>
    get_offset(std::string stream, std::string consumer, deadline_t deadline) override {
        require_stream_name(stream);
        require_consumer_name(consumer);
        auto work = [stream = std::move(stream), consumer = std::move(consumer), deadline](
                        connection& db
                    ) { return read_saved_offset(db, stream, consumer, deadline); };
        const offset_t offset = co_await look_up<offset_t>(std::move(work), deadline);
        co_return offset;
    }

    awaitable<std::vector<consumer_offset>>
    consumers(std::string stream, deadline_t deadline) override {
        require_stream_name(stream);
        auto work = [stream = std::move(stream), deadline](connection& db) {
            return list_consumers(db, stream, deadline);
        };
        auto found = co_await look_up<std::vector<consumer_offset>>(std::move(work), deadline);
        co_return found;
    }

    awaitable<void>
    forget_consumer(std::string stream, std::string consumer, deadline_t deadline) override {
        require_stream_name(stream);
        require_consumer_name(consumer);
        auto work = [stream = std::move(stream), consumer = std::move(consumer), deadline](
                        connection& db
                    ) { return postgres::forget_consumer(db, stream, consumer, deadline); };
        co_await write<nothing>(std::move(work), deadline);
    }

    awaitable<void>
    transaction(std::function<awaitable<void>(tx_handle&)> work, deadline_t deadline) override {
        co_await transactions_.run(std::move(work), deadline);
    }

    awaitable<void> probe(deadline_t deadline) override {
        auto work = [this, deadline] { return probe_on_loop(deadline); };
        co_await loop_.run<nothing>(std::move(work));
    }

    [[nodiscard]] engine_figures figures() const noexcept override {
        engine_figures sizes;
        sizes.store_bytes = store_bytes_.load(std::memory_order_relaxed);
        sizes.waiting_appends = appender_.waiting();
        sizes.is_woken_by_polling = watcher_.is_by_polling();
        sizes.connections = writers_.open_connections() + waiters_.open_connections() +
                            readers_.open_connections() + background_.open_connections() +
                            (watcher_.is_listening() ? 1 : 0);
        sizes.reconnects = watcher_.reconnects();
        sizes.held_streams = appender_.held_streams_now();
        return sizes;
    }

    awaitable<void> close() override {
        // Joining blocks, so it has a thread of its own; the destructor collects that.
        auto start = [this](completion<nothing> done) {
            const std::lock_guard lock(closing_);
            if (closer_.joinable()) closer_.join();
            closer_ = std::thread([this, done = std::move(done)]() mutable {
                stop();
                done.succeed({});
            });
        };
        co_await await_completion<nothing>(std::move(start));
    }

private:
    group_commit::actions actions() {
        group_commit::actions what;
        what.committed = [this](commit_report appends) {
            observer_.committed(appends);
            watcher_.saw_own(appends);
            if (options_.postgres.notify) notifier_.add(appends);
        };
        what.outcome_unknown = [this] { watcher_.poke(); };
        what.server_changed = [this] { renew_pools(); };
        return what;
    }

    void start() {
        appender_.start();
        sweeper_.start();
        notifier_.start();
        watcher_.start();
        loop_.spawn(measure());
    }

    void renew_pools() noexcept {
        for (pool* one : {&writers_, &waiters_, &readers_, &background_})
            one->renew();
    }

    // What is accepted is finished first; then the background ends, then the connections.
    void stop() {
        const std::lock_guard lock(stopping_);
        appender_.refuse_new();
        loop_.close([this] { wind_down(); });
    }

    void wind_down() {
        is_closing_ = true;
        measuring_.notify();
        transactions_.close();
        appender_.close();
        sweeper_.close();
        notifier_.close();
        watcher_.close();
    }

    /// A read: idle connections that turn out to be dead are no reason to fail it.
    template <class T, class Work>
    awaitable<T> look_up(Work work, deadline_t deadline) {
        auto on_loop = [this, work = std::move(work), deadline]() mutable {
            return read_on_loop<T>(std::move(work), deadline);
        };
        return loop_.run<T>(std::move(on_loop));
    }

    template <class T, class Work>
    awaitable<T> write(Work work, deadline_t deadline) {
        auto on_loop = [this, work = std::move(work), deadline]() mutable {
            return write_on_loop<T>(std::move(work), deadline);
        };
        return loop_.run<T>(std::move(on_loop));
    }

    template <class T, class Work>
    awaitable<T> read_on_loop(Work work, deadline_t deadline) {
        constexpr int tries = 2;
        std::optional<postgres_fault> fault;
        for (int i = 0; i < tries && clock::now() < deadline; ++i) {
            fault.reset();
            try {
                lease db = co_await readers_.acquire(deadline);
                T value = co_await work(*db);
                co_return value;
            } catch (const postgres_fault& caught) {
                fault = caught;
            }
            if (!fault->ends_connection()) break;
            renew_pools();
        }
        if (fault) throw error(fault->which(), fault->detail());
        throw error(errc::busy, "the deadline passed before the read began");
    }

    template <class T, class Work>
    awaitable<T> write_on_loop(Work work, deadline_t deadline) {
        std::optional<postgres_fault> fault;
        try {
            lease db = co_await readers_.acquire(deadline);
            T value = co_await work(*db);
            co_return value;
        } catch (const postgres_fault& caught) {
            fault = caught;
        }
        if (fault->ends_connection()) renew_pools();
        throw error(fault->which(), fault->detail());
    }

    awaitable<nothing> probe_on_loop(deadline_t deadline) {
        const write_health::word latest = health_.latest(probe_memory);
        if (latest.is_known) {
            if (latest.fault) std::rethrow_exception(latest.fault);
            co_return nothing{};
        }
        std::optional<postgres_fault> fault;
        try {
            lease db = co_await background_.acquire(deadline);
            co_await touch_probe(*db, deadline);
        } catch (const postgres_fault& caught) {
            fault = caught;
        }
        if (!fault) {
            health_.good();
            co_return nothing{};
        }
        health_.bad(*fault);
        if (fault->ends_connection()) renew_pools();
        throw error(fault->which(), fault->detail());
    }

    // For the metrics, which cannot wait for an answer.
    awaitable<void> measure() {
        while (!is_closing_) {
            try {
                const auto until = clock::now() + size_patience;
                lease db = co_await background_.acquire(until);
                query size(queries::store_size);
                const result rows = co_await ask(*db, std::move(size), until);
                store_bytes_.store(
                    static_cast<std::uint64_t>(rows.integer(0, 0)), std::memory_order_relaxed
                );
            } catch (const error&) {
                // The old figure stays; others tell of the outage.
            }
            if (!is_closing_) co_await measuring_.wait(clock::now() + size_interval);
        }
    }

    silent_observer nobody_;
    store_observer& observer_;
    const open_options options_;
    const dsn where_;
    const dsn listen_at_;
    engine_loop loop_;
    pool writers_;
    pool waiters_;
    pool readers_;
    pool background_;
    write_health health_;
    appender appender_;
    transactions transactions_;
    sweeper sweeper_;
    notifier notifier_;
    watcher watcher_;
    signal measuring_;
    bool is_closing_ = false;
    std::atomic<std::uint64_t> store_bytes_{0};
    std::mutex closing_;
    std::mutex stopping_;
    std::thread closer_;
};

} // namespace

std::string fault_of_url(const std::string& url) {
    try {
        (void)dsn::parse(url);
        return {};
    } catch (const error& fault) {
        return fault.detail();
    }
}

std::unique_ptr<engine> open_postgres_engine(
    const std::string& url, const open_options& options, store_observer* observer
) {
    const dsn where = dsn::parse(url);
    prepare_database(where, options.postgres.start_patience);
    return std::make_unique<postgres_engine>(where, options, observer);
}

} // namespace streamld::store::postgres
