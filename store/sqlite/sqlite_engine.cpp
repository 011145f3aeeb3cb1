#include "store/sqlite/sqlite_engine.hpp"

#include "store/fingerprint.hpp"
#include "store/silent_observer.hpp"
#include "store/sqlite/checkpointer.hpp"
#include "store/sqlite/reader.hpp"
#include "store/sqlite/transaction.hpp"
#include "store/sqlite/watcher.hpp"
#include "store/sqlite/writer.hpp"
#include "store/validation.hpp"

#include <algorithm>

namespace streamld::store::sqlite {

namespace {

using boost::asio::awaitable;

constexpr std::size_t waiting_reads_max = 65536;
constexpr std::size_t small_write_bytes = 1024; // What a write without events counts as.
constexpr std::chrono::milliseconds probe_memory{1000};

std::vector<std::unique_ptr<reader>>
make_readers(const database_settings& settings, file_identity& identity, std::size_t count) {
    std::vector<std::unique_ptr<reader>> readers;
    for (std::size_t i = 0; i < std::max<std::size_t>(count, 1); ++i)
        readers.push_back(std::make_unique<reader>(settings, identity));
    return readers;
}

std::size_t bytes_of(const append_request& request) {
    std::size_t sum = request.stream.size() + small_write_bytes;
    for (const auto& event : request.events)
        sum += event.payload.size() + (event.key ? event.key->size() : 0);
    return sum;
}

// The members' order is the order of construction; close() ends them the other way round.
class sqlite_engine final : public engine {
public:
    sqlite_engine(const std::string& path, const open_options& options, store_observer* observer)
        : observer_(observer != nullptr ? *observer : nobody_),
          settings_(prepare_database(path, options)), identity_(settings_.path),
          watcher_(settings_, options.poll_interval, observer_, identity_, board_),
          checkpointer_(settings_, options.wal_bytes_max, observer_, identity_),
          writer_(settings_, options, observer_, identity_, board_, signals()),
          readers_(make_readers(settings_, identity_, options.readers), waiting_reads_max) {
        watcher_.start();
    }

    ~sqlite_engine() override {
        stop();
        if (closer_.joinable()) closer_.join();
    }

    awaitable<append_outcome> append(append_request request, deadline_t deadline) override {
        require_valid(request);
        checked_append publish;
        if (!request.idempotency_key.empty()) publish.fingerprint = fingerprint_of(request);
        const std::size_t events = request.events.size();
        const std::size_t bytes = bytes_of(request);
        publish.request = std::move(request);
        auto work = [publish = std::move(publish)](ledger& books) { return books.append(publish); };
        const append_outcome outcome =
            co_await writer_.run(std::move(work), deadline, events, bytes);
        co_return outcome;
    }

    awaitable<event_page> read(read_request request, deadline_t deadline) override {
        require_stream_name(request.stream);
        require_offset(request.after);
        if (!request.key.empty()) require_key(request.key);
        auto work = [request = std::move(request)](reader& from) { return from.read(request); };
        event_page page = co_await readers_.run(std::move(work), deadline);
        co_return page;
    }

    awaitable<std::optional<stream_info>> info(std::string stream, deadline_t deadline) override {
        require_stream_name(stream);
        auto work = [stream = std::move(stream)](reader& from) { return from.info(stream); };
        auto found = co_await readers_.run(std::move(work), deadline);
        co_return found;
    }

    awaitable<position>
    locate(std::string stream, start_point start, std::string key, deadline_t deadline) override {
        require_stream_name(stream);
        if (!key.empty()) require_key(key);
        if (start.kind == start_kind::consumer) require_consumer_name(start.consumer);
        if (start.kind == start_kind::after || start.kind == start_kind::last)
            require_offset(start.value);
        auto work = [stream = std::move(stream), start = std::move(start), key = std::move(key)](
                        reader& from
                    ) { return from.locate(stream, start, key); };
        position found = co_await readers_.run(std::move(work), deadline);
        co_return found;
    }

    awaitable<std::vector<stream_info>> streams(
        std::string prefix, std::string after, std::size_t limit, deadline_t deadline
    ) override {
        auto work = [prefix = std::move(prefix), after = std::move(after), limit](reader& from) {
            return from.streams(prefix, after, limit);
        };
        auto found = co_await readers_.run(std::move(work), deadline);
        co_return found;
    }

    awaitable<created> create(std::string stream, deadline_t deadline) override {
        require_stream_name(stream);
        auto work = [stream = std::move(stream)](ledger& books) { return books.create(stream); };
        created result = co_await writer_.run(std::move(work), deadline, 1, small_write_bytes);
        co_return result;
    }

    awaitable<trim_outcome> trim(trim_request request, deadline_t deadline) override {
        require_stream_name(request.stream);
        require_offset(request.through);
        auto work = [request = std::move(request)](ledger& books) { return books.trim(request); };
        trim_outcome outcome =
            co_await writer_.run(std::move(work), deadline, 1, small_write_bytes);
        co_return outcome;
    }

    awaitable<save_outcome> save_offset(
        std::string stream, std::string consumer, offset_t offset, deadline_t deadline
    ) override {
        require_stream_name(stream);
        require_consumer_name(consumer);
        require_offset(offset);
        auto work = [stream = std::move(stream),
                     consumer = std::move(consumer),
                     offset](ledger& books) { return books.save_offset(stream, consumer, offset); };
        const save_outcome outcome =
            co_await writer_.run(std::move(work), deadline, 1, small_write_bytes);
        co_return outcome;
    }

    awaitable<offset_t>
    get_offset(std::string stream, std::string consumer, deadline_t deadline) override {
        require_stream_name(stream);
        require_consumer_name(consumer);
        auto work = [stream = std::move(stream), consumer = std::move(consumer)](reader& from) {
            return from.saved_offset(stream, consumer);
        };
        const offset_t offset = co_await readers_.run(std::move(work), deadline);
        co_return offset;
    }

    awaitable<std::vector<consumer_offset>>
    consumers(std::string stream, deadline_t deadline) override {
        require_stream_name(stream);
        auto work = [stream = std::move(stream)](reader& from) { return from.consumers(stream); };
        auto found = co_await readers_.run(std::move(work), deadline);
        co_return found;
    }

    awaitable<void>
    forget_consumer(std::string stream, std::string consumer, deadline_t deadline) override {
        require_stream_name(stream);
        require_consumer_name(consumer);
        auto work = [stream = std::move(stream), consumer = std::move(consumer)](ledger& books) {
            books.forget_consumer(stream, consumer);
            return nothing{};
        };
        co_await writer_.run(std::move(work), deadline, 1, small_write_bytes);
    }

    awaitable<void>
    transaction(std::function<awaitable<void>(tx_handle&)> work, deadline_t deadline) override {
        co_await run_transaction(writer_, std::move(work), deadline);
    }

    awaitable<void> probe(deadline_t deadline) override {
        identity_.check();
        const auto last = writer_.last_write();
        if (std::chrono::steady_clock::now() - last.at < probe_memory) {
            if (last.fault) std::rethrow_exception(last.fault);
            co_return;
        }
        auto work = [](ledger& books) {
            books.touch_probe();
            return nothing{};
        };
        co_await writer_.run(std::move(work), deadline, 1, small_write_bytes);
    }

    [[nodiscard]] engine_figures figures() const noexcept override {
        engine_figures sizes;
        sizes.store_bytes = file_size(settings_.path);
        sizes.log_bytes = file_size(settings_.path + "-wal");
        sizes.waiting_appends = writer_.waiting();
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
    writer::signals signals() {
        writer::signals tell;
        tell.foreign_commit = [this] { watcher_.poke(); };
        tell.wal_has_pages = [this](int pages) { checkpointer_.log_has_pages(pages); };
        return tell;
    }

    // The writer first, since what is accepted must be finished; the last checkpoint after
    // everybody else.
    void stop() {
        const std::lock_guard lock(stopping_);
        writer_.stop();
        readers_.stop();
        watcher_.stop();
        checkpointer_.stop();
    }

    silent_observer nobody_;
    store_observer& observer_;
    const database_settings settings_;
    file_identity identity_;
    change_board board_;
    watcher watcher_;
    checkpointer checkpointer_;
    writer writer_;
    worker<reader> readers_;
    std::mutex closing_;
    std::mutex stopping_;
    std::thread closer_;
};

} // namespace

std::unique_ptr<engine>
open_sqlite_engine(const std::string& path, const open_options& options, store_observer* observer) {
    return std::make_unique<sqlite_engine>(path, options, observer);
}

} // namespace streamld::store::sqlite
