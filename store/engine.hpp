#pragma once
// The seam: what a storage engine implements. Shapes are values; every operation may be called from
// any thread, is an awaitable that resumes on the caller's executor, takes a deadline, runs to its
// end and throws store::error. An engine outlives every operation on it; close() is awaited before
// it is destroyed.

#include "store/cursor_verdict.hpp"
#include "store/event.hpp"

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace streamld::store {

using deadline_t = std::chrono::steady_clock::time_point;

struct new_event {
    std::string payload;
    std::optional<std::string> key;
    bool is_snapshot = false;

    new_event() = default;

    explicit new_event(
        std::string bytes, std::optional<std::string> event_key = {}, bool snapshot = false
    )
        : payload(std::move(bytes)), key(std::move(event_key)), is_snapshot(snapshot) {}
};

/// One publish: events of one stream, all or nothing, with consecutive offsets.
struct append_request {
    std::string stream;
    std::vector<new_event> events; // At least one.
    std::string content_type{default_content_type};
    std::optional<offset_t> expected_head; // errc::precondition unless the head is still this.
    std::string
        idempotency_key;   // Empty: none. Per stream, kept at least 24 h and as long as the event.
    bool is_batch = false; // Part of what makes two publishes the same.

    append_request() = default;

    append_request(std::string stream_name, new_event event) : stream(std::move(stream_name)) {
        events.push_back(std::move(event));
    }
};

struct append_outcome {
    offset_t first = 0;
    offset_t last = 0;
    std::int64_t created_at = 0;
    bool replayed = false; // The idempotency key's first answer again; nothing was appended.
};

struct stream_info {
    std::string stream;
    stream_bounds bounds;
    std::int64_t created_at = 0;
    std::optional<std::int64_t> last_event_at; // Absent while nothing was ever published.
};

/// One event inside a page. Views into page::bytes; valid as long as the page.
struct event_view {
    offset_t offset = 0;
    std::int64_t created_at = 0;
    std::string_view payload;
    std::string_view key; // Empty: none.
    std::string_view content_type;
    bool is_snapshot = false;
    bool is_checked =
        true; // False: published by plain SQL; the payload's JSON has not been checked yet.
};

struct read_request {
    std::string stream;
    offset_t after = 0;
    offset_t through = offset_max; // Nothing beyond is read.
    std::size_t events_max = 512;
    std::size_t bytes_max = std::size_t{1} << 20; // A page ends behind the event that reaches it.
    std::string key;                              // Empty: all. Otherwise only this key's events.
};

/// A page never waits and never fails for a cursor: it begins at the first surviving event after
/// it. Bounds and events are of one snapshot. Movable, not copyable; the arena moves with it (views
/// stay valid).
struct event_page {
    stream_bounds bounds;
    offset_t scanned =
        0; // Every matching event up to here (and >after) is in the page. The next cursor.
    std::vector<event_view> events; // Ascending; dense unless a key filters.
    std::unique_ptr<char[]>
        bytes; // Backs the views (an engine may chain several arenas; see `more_bytes`).
    std::vector<std::unique_ptr<char[]>> more_bytes;
};

enum class start_kind { live, after, last, snapshot, consumer, oldest };

/// Where a reader begins. `live`: at the head. `oldest`: before the oldest surviving event. `last`:
/// so that `value` (matching) events follow. `snapshot`: before the newest snapshot, or as oldest
/// if there is none. `consumer`: that consumer's saved offset (0 if never saved).
struct start_point {
    start_kind kind = start_kind::live;
    offset_t value = 0;
    std::string consumer;
};

struct position {
    stream_info info; // info.bounds.exists is false for a stream that does not exist; after is then
                      // 0 or `value`.
    offset_t after = 0;
};

struct consumer_offset {
    std::string consumer;
    offset_t offset = 0;
};

struct save_outcome {
    offset_t offset = 0; // The stored one.
    bool advanced = false;
};

struct trim_request {
    std::string stream;
    offset_t through = 0;
    bool dry_run = false; // Says what would happen, removes nothing.
    bool guard_consumers =
        false; // errc::consumers_behind while a saved offset is below the new horizon.
};

struct trim_outcome {
    std::int64_t removed = 0;
    stream_info info;                              // After the trim (dry run: as it would be).
    std::vector<consumer_offset> consumers_behind; // Saved offsets below the new horizon.
};

/// A transaction of the caller's own rows with events (ADR-015 section 2). One coroutine at a time;
/// dies with the function it was given to. Nothing is visible, and no wake is given, before the
/// commit.
class tx_handle {
public:
    virtual ~tx_handle() = default;

    virtual boost::asio::awaitable<offset_t>
    publish_tx(std::string stream, std::string payload) = 0;
    virtual boost::asio::awaitable<offset_t> publish_with_key_tx(
        std::string stream, std::optional<std::string> key, std::string payload
    ) = 0;
    virtual boost::asio::awaitable<save_outcome>
    save_offset_tx(std::string stream, std::string consumer, offset_t offset) = 0;

    using sql_value = std::variant<std::nullptr_t, std::int64_t, double, std::string>;
    using sql_row = std::vector<sql_value>;

    /// Runs one statement of the caller's with bound parameters; its rows, if any.
    virtual boost::asio::awaitable<std::vector<sql_row>>
    execute(std::string sql, std::vector<sql_value> parameters) = 0;
};

/// What the store has to say unasked. Called from the engine's threads, in commit order for one
/// stream; must be quick, must not throw and must not call the store. The views are valid during
/// the call only.
class store_observer {
public:
    struct committed_append {
        std::string_view stream;
        std::string_view epoch;
        std::string_view content_type;
        std::span<const new_event> events; // offsets first, first + 1, ...
        offset_t first = 0;
        std::int64_t created_at = 0;
    };

    struct grown_stream {
        std::string stream;
        offset_t head = 0;
    };

    virtual ~store_observer() = default;

    /// This process made these durable.
    virtual void committed(std::span<const committed_append> appends) noexcept = 0;

    /// A hint: these streams have (at least) these heads now, whoever published.
    virtual void grown(std::vector<grown_stream> streams) noexcept = 0;

    /// Hints may have been missed: look at every stream.
    virtual void look_at_all() noexcept = 0;

    /// Background trouble and its end, for the log; an empty code means that all is well again.
    virtual void trouble(boost::system::error_code code, std::string_view what) noexcept = 0;
};

/// Sizes for the metrics; read from the engine without touching its files' contents.
struct engine_figures {
    std::uint64_t store_bytes = 0;
    std::uint64_t log_bytes = 0; // SQLite: the -wal file.
    std::uint64_t waiting_appends = 0;
    bool is_woken_by_polling = false; // Commits of others are noticed by the poll alone.
    std::uint64_t connections = 0;    // To a database server.
    std::uint64_t reconnects = 0;     // Of the connection that listens to it.
    std::uint64_t held_streams = 0;   // Publishes to these wait for another program's transaction.
};

class engine {
public:
    virtual ~engine() = default;

    /// Group commit: what waits goes into one durable transaction. Returns after it is durable.
    virtual boost::asio::awaitable<append_outcome>
    append(append_request request, deadline_t deadline) = 0;

    virtual boost::asio::awaitable<event_page> read(read_request request, deadline_t deadline) = 0;
    virtual boost::asio::awaitable<std::optional<stream_info>>
    info(std::string stream, deadline_t deadline) = 0;
    virtual boost::asio::awaitable<position>
    locate(std::string stream, start_point start, std::string key, deadline_t deadline) = 0;

    /// In byte order of names; `after` exclusive, at most `limit`.
    virtual boost::asio::awaitable<std::vector<stream_info>>
    streams(std::string prefix, std::string after, std::size_t limit, deadline_t deadline) = 0;

    struct created {
        stream_info info;
        bool is_new = false;
    };

    virtual boost::asio::awaitable<created> create(std::string stream, deadline_t deadline) = 0;

    virtual boost::asio::awaitable<trim_outcome>
    trim(trim_request request, deadline_t deadline) = 0;

    /// Monotone: a lower offset changes nothing. errc::unknown_stream, or invalid_cursor beyond the
    /// head.
    virtual boost::asio::awaitable<save_outcome>
    save_offset(std::string stream, std::string consumer, offset_t offset, deadline_t deadline) = 0;
    virtual boost::asio::awaitable<offset_t>
    get_offset(std::string stream, std::string consumer, deadline_t deadline) = 0;
    virtual boost::asio::awaitable<std::vector<consumer_offset>>
    consumers(std::string stream, deadline_t deadline) = 0;
    virtual boost::asio::awaitable<void>
    forget_consumer(std::string stream, std::string consumer, deadline_t deadline) = 0;

    /// Commits when `work` returns, rolls back when it throws or the deadline passes.
    virtual boost::asio::awaitable<void> transaction(
        std::function<boost::asio::awaitable<void>(tx_handle&)> work, deadline_t deadline
    ) = 0;

    /// Throws unless a write would succeed now. Never answers from memory alone for longer than a
    /// second.
    virtual boost::asio::awaitable<void> probe(deadline_t deadline) = 0;

    [[nodiscard]] virtual engine_figures figures() const noexcept = 0;

    /// Takes no new work, finishes what is accepted, joins its threads.
    virtual boost::asio::awaitable<void> close() = 0;
};

} // namespace streamld::store
