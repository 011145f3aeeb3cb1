#pragma once
// An engine under test with the verbs of the contract as plain calls, and an observer that keeps
// what it was told.

#include "store/engine.hpp"
#include "store/open_store.hpp"
#include "support/run_loop.hpp"

#include <boost/test/unit_test.hpp>

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace streamld::tests {

/// Keeps everything. Any thread.
class recording_observer final : public store::store_observer {
public:
    struct commit {
        std::string stream;
        std::string content_type;
        std::vector<std::string> payloads;
        store::offset_t first = 0;
    };

    void committed(std::span<const committed_append> appends) noexcept override;
    void grown(std::vector<grown_stream> streams) noexcept override;
    void look_at_all() noexcept override;
    void trouble(boost::system::error_code code, std::string_view what) noexcept override;

    [[nodiscard]] std::vector<commit> commits() const;
    [[nodiscard]] std::size_t calls() const; // Of committed().
    [[nodiscard]] store::offset_t grown_head(const std::string& stream) const;
    [[nodiscard]] std::size_t hints() const; // Streams named by grown(), with repetitions.
    [[nodiscard]] std::vector<boost::system::error_code> troubles() const;

    /// False after `at_most` without the condition.
    bool wait(std::chrono::milliseconds at_most, const std::function<bool()>& condition) const;

private:
    mutable std::mutex mutex_;
    mutable std::condition_variable changed_;
    std::vector<commit> commits_;
    std::size_t calls_ = 0;
    std::size_t hints_ = 0;
    std::map<std::string, store::offset_t> grown_;
    std::vector<boost::system::error_code> troubles_;
};

struct read_event {
    store::offset_t offset = 0;
    std::string payload;
    std::optional<std::string> key;
    std::string content_type;
    std::int64_t created_at = 0;
    bool is_snapshot = false;
    bool is_checked = true;
};

struct read_result {
    store::stream_bounds bounds;
    store::offset_t scanned = 0;
    std::vector<read_event> events;

    [[nodiscard]] std::vector<store::offset_t> offsets() const;
};

[[nodiscard]] store::deadline_t in_time();

class store_fixture {
public:
    explicit store_fixture(std::string url, store::open_options options = {});
    store_fixture(const store_fixture&) = delete;
    store_fixture& operator=(const store_fixture&) = delete;
    ~store_fixture();

    void open();
    void close();
    void reopen();

    store::append_outcome append(store::append_request request);
    store::offset_t publish(const std::string& stream, const std::string& payload);
    store::offset_t
    publish_key(const std::string& stream, const std::string& key, const std::string& payload);
    void
    publish_many(const std::string& stream, int count); // Payloads "1", "2", ... by their offset.
    read_result read(store::read_request request);
    read_result read_all(const std::string& stream, store::offset_t after = 0);
    std::optional<store::stream_info> info(const std::string& stream);
    store::position locate(
        const std::string& stream,
        store::start_kind kind,
        store::offset_t value = 0,
        const std::string& key = {},
        const std::string& consumer = {}
    );
    store::trim_outcome trim(const std::string& stream, store::offset_t through);
    store::trim_outcome trim(store::trim_request request);
    store::save_outcome
    save_offset(const std::string& stream, const std::string& consumer, store::offset_t offset);
    store::offset_t get_offset(const std::string& stream, const std::string& consumer);
    void transact(std::function<boost::asio::awaitable<void>(store::tx_handle&)> work);

    [[nodiscard]] store::engine& engine() noexcept { return *engine_; }

    run_loop loop;
    recording_observer observer;

private:
    std::string url_;
    store::open_options options_;
    std::unique_ptr<store::engine> engine_;
};

[[nodiscard]] store::append_request
one_event(const std::string& stream, const std::string& payload);

/// True if `act` throws store::error with this code.
[[nodiscard]] bool fails_with(store::errc code, const std::function<void()>& act);

} // namespace streamld::tests
