#pragma once
// The contract of ADR-015 by its own names, for use as a library inside another program. A thin
// face over an engine: validates, fills in the default deadline, copies pages into owned events.
// Any thread; a stream does not outlive its store.

#include "store/engine.hpp"
#include "store/open_store.hpp"

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace streamld::store {

class event_store;

/// A cursor that waits. next() yields one or more events after the cursor, in order, or throws
/// error(invalid_cursor) where the cursor is not resolvable (trimmed past, or ahead). Nothing is
/// queued: a slow reader costs one number.
class subscription {
public:
    /// Waits until there is an event or `wait` has passed (then an empty vector).
    boost::asio::awaitable<std::vector<stream_event>> next(std::chrono::milliseconds wait);

    [[nodiscard]] offset_t cursor() const noexcept { return cursor_; }

private:
    friend class stream;
    subscription(event_store& owner, std::string stream, offset_t after);

    event_store* store_;
    std::string stream_;
    offset_t cursor_;
};

class stream {
public:
    [[nodiscard]] const std::string& name() const noexcept { return name_; }

    boost::asio::awaitable<offset_t> publish(std::string payload);
    boost::asio::awaitable<offset_t>
    publish_with_key(std::optional<std::string> key, std::string payload);
    boost::asio::awaitable<append_outcome> append(append_request request
    ); // request.stream is set to name().

    /// Events after `after`, ascending, at most `limit`; no error below the horizon.
    boost::asio::awaitable<std::vector<stream_event>> read_since(offset_t after, std::size_t limit);
    boost::asio::awaitable<std::vector<stream_event>>
    read_from_consumer(std::string consumer, std::size_t limit);

    boost::asio::awaitable<save_outcome> save_offset(std::string consumer, offset_t offset);
    boost::asio::awaitable<offset_t> get_offset(std::string consumer); // 0 if never saved.

    /// Begins at `after`, or at the head.
    boost::asio::awaitable<subscription> subscribe(std::optional<offset_t> after);

    boost::asio::awaitable<trim_outcome> trim_to(offset_t horizon);
    boost::asio::awaitable<std::optional<stream_info>> info();

private:
    friend class event_store;

    stream(event_store& owner, std::string name) : store_(&owner), name_(std::move(name)) {}

    event_store* store_;
    std::string name_;
};

struct store_options {
    open_options engine;
    std::chrono::milliseconds operation_timeout{10'000};
};

class event_store {
public:
    /// Throws store::error.
    [[nodiscard]] static std::unique_ptr<event_store>
    open(const std::string& url, store_options options = {});
    ~event_store();

    [[nodiscard]] stream stream_named(std::string name); // Throws invalid_name.
    boost::asio::awaitable<std::vector<stream_info>>
    streams(std::string prefix, std::string after, std::size_t limit);
    boost::asio::awaitable<void>
    transaction(std::function<boost::asio::awaitable<void>(tx_handle&)> work);
    boost::asio::awaitable<void> close();

    [[nodiscard]] engine& raw() noexcept;

private:
    friend class stream;
    friend class subscription;
    class impl; // The engine, and who waits for which stream.
    explicit event_store(std::unique_ptr<impl> inner);
    std::unique_ptr<impl> impl_;
};

} // namespace streamld::store
