#include "support/store_fixture.hpp"

namespace streamld::tests {

using store::offset_t;

// ---------------------------------------------------------------- recording_observer

void recording_observer::committed(std::span<const committed_append> appends) noexcept {
    {
        const std::lock_guard lock(mutex_);
        ++calls_;
        for (const auto& append : appends) {
            auto& added = commits_.emplace_back();
            added.stream = append.stream;
            added.content_type = append.content_type;
            added.first = append.first;
            for (const auto& event : append.events)
                added.payloads.push_back(event.payload);
        }
    }
    changed_.notify_all();
}

void recording_observer::grown(std::vector<grown_stream> streams) noexcept {
    {
        const std::lock_guard lock(mutex_);
        hints_ += streams.size();
        for (const auto& stream : streams)
            grown_[stream.stream] = stream.head;
    }
    changed_.notify_all();
}

void recording_observer::look_at_all() noexcept {
    changed_.notify_all();
}

void recording_observer::
    trouble(boost::system::error_code code, std::string_view /*what*/) noexcept {
    {
        const std::lock_guard lock(mutex_);
        troubles_.push_back(code);
    }
    changed_.notify_all();
}

std::vector<recording_observer::commit> recording_observer::commits() const {
    const std::lock_guard lock(mutex_);
    return commits_;
}

std::size_t recording_observer::calls() const {
    const std::lock_guard lock(mutex_);
    return calls_;
}

offset_t recording_observer::grown_head(const std::string& stream) const {
    const std::lock_guard lock(mutex_);
    const auto found = grown_.find(stream);
    return found == grown_.end() ? 0 : found->second;
}

std::size_t recording_observer::hints() const {
    const std::lock_guard lock(mutex_);
    return hints_;
}

std::vector<boost::system::error_code> recording_observer::troubles() const {
    const std::lock_guard lock(mutex_);
    return troubles_;
}

bool recording_observer::wait(
    std::chrono::milliseconds at_most, const std::function<bool()>& condition
) const {
    const auto until = std::chrono::steady_clock::now() + at_most;
    while (!condition()) {
        std::unique_lock lock(mutex_);
        if (std::chrono::steady_clock::now() >= until) return false;
        changed_.wait_for(lock, std::chrono::milliseconds(5));
    }
    return true;
}

// ---------------------------------------------------------------- store_fixture

std::vector<offset_t> read_result::offsets() const {
    std::vector<offset_t> found;
    for (const auto& event : events)
        found.push_back(event.offset);
    return found;
}

store::deadline_t in_time() {
    return std::chrono::steady_clock::now() + std::chrono::seconds(30);
}

store_fixture::store_fixture(std::string url, store::open_options options)
    : url_(std::move(url)), options_(options) {
    open();
}

store_fixture::~store_fixture() {
    try {
        if (engine_) close();
    } catch (const std::exception& fault) {
        BOOST_TEST_MESSAGE("closing failed: " << fault.what());
    }
}

void store_fixture::open() {
    engine_ = store::open_engine(url_, options_, &observer);
}

void store_fixture::close() {
    loop.await(engine_->close());
    engine_.reset();
}

void store_fixture::reopen() {
    close();
    open();
}

store::append_outcome store_fixture::append(store::append_request request) {
    return loop.await(engine_->append(std::move(request), in_time()));
}

offset_t store_fixture::publish(const std::string& stream, const std::string& payload) {
    return append(one_event(stream, payload)).first;
}

offset_t store_fixture::publish_key(
    const std::string& stream, const std::string& key, const std::string& payload
) {
    auto request = one_event(stream, payload);
    request.events.front().key = key;
    return append(std::move(request)).first;
}

void store_fixture::publish_many(const std::string& stream, int count) {
    const auto known = info(stream);
    const offset_t head = known ? known->bounds.head : 0;
    store::append_request request;
    request.stream = stream;
    for (int i = 1; i <= count; ++i)
        request.events.emplace_back(std::to_string(head + i));
    append(std::move(request));
}

read_result store_fixture::read(store::read_request request) {
    const auto page = loop.await(engine_->read(std::move(request), in_time()));
    read_result result;
    result.bounds = page.bounds;
    result.scanned = page.scanned;
    for (const auto& view : page.events) {
        auto& event = result.events.emplace_back();
        event.offset = view.offset;
        event.payload = view.payload;
        if (!view.key.empty()) event.key = view.key;
        event.content_type = view.content_type;
        event.created_at = view.created_at;
        event.is_snapshot = view.is_snapshot;
        event.is_checked = view.is_checked;
    }
    return result;
}

read_result store_fixture::read_all(const std::string& stream, offset_t after) {
    store::read_request request;
    request.stream = stream;
    request.after = after;
    request.events_max = 1'000'000;
    request.bytes_max = std::size_t{1} << 30;
    return read(std::move(request));
}

std::optional<store::stream_info> store_fixture::info(const std::string& stream) {
    return loop.await(engine_->info(stream, in_time()));
}

store::position store_fixture::locate(
    const std::string& stream,
    store::start_kind kind,
    offset_t value,
    const std::string& key,
    const std::string& consumer
) {
    store::start_point start;
    start.kind = kind;
    start.value = value;
    start.consumer = consumer;
    return loop.await(engine_->locate(stream, std::move(start), key, in_time()));
}

store::trim_outcome store_fixture::trim(const std::string& stream, offset_t through) {
    store::trim_request request;
    request.stream = stream;
    request.through = through;
    return trim(std::move(request));
}

store::trim_outcome store_fixture::trim(store::trim_request request) {
    return loop.await(engine_->trim(std::move(request), in_time()));
}

store::save_outcome store_fixture::save_offset(
    const std::string& stream, const std::string& consumer, offset_t offset
) {
    return loop.await(engine_->save_offset(stream, consumer, offset, in_time()));
}

offset_t store_fixture::get_offset(const std::string& stream, const std::string& consumer) {
    return loop.await(engine_->get_offset(stream, consumer, in_time()));
}

void store_fixture::transact(std::function<boost::asio::awaitable<void>(store::tx_handle&)> work) {
    loop.await(engine_->transaction(std::move(work), in_time()));
}

store::append_request one_event(const std::string& stream, const std::string& payload) {
    store::append_request request;
    request.stream = stream;
    request.events.emplace_back(payload);
    return request;
}

bool fails_with(store::errc code, const std::function<void()>& act) {
    try {
        act();
    } catch (const store::error& fault) {
        if (fault.which() == code) return true;
        BOOST_TEST_MESSAGE("failed with " << fault.what());
    }
    return false;
}

} // namespace streamld::tests
