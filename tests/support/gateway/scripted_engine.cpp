#include "support/gateway/scripted_engine.hpp"

#include <algorithm>
#include <stdexcept>

namespace streamld::test {

namespace {

[[noreturn]] void not_scripted() {
    throw std::logic_error{"the scripted engine does not do this"};
}

} // namespace

void scripted_engine::let_go() {
    is_holding_ = false;
    for (wakeup* const one : held_)
        one->notify();
    held_.clear();
}

void scripted_engine::append_silently(
    const std::string& stream, int events, const std::string& key
) {
    log& to = logs[stream];
    for (int i = 0; i < events; ++i) {
        store::new_event event{std::to_string(to.events.size() + 1)};
        if (!key.empty()) event.key = key;
        to.events.push_back(std::move(event));
    }
}

boost::asio::awaitable<void> scripted_engine::pass() {
    if (is_holding_) {
        wakeup free{turn_};
        held_.push_back(&free);
        co_await free.wait();
    }
    if (reads_fail) throw store::error{store::errc::unavailable, "scripted"};
}

store::stream_bounds scripted_engine::bounds_of(const std::string& stream) const {
    store::stream_bounds bounds;
    const auto at = logs.find(stream);
    if (at == logs.end()) return bounds;
    bounds.exists = true;
    bounds.epoch = at->second.epoch;
    bounds.head = static_cast<store::offset_t>(at->second.events.size());
    bounds.horizon = at->second.horizon;
    return bounds;
}

boost::asio::awaitable<store::event_page>
scripted_engine::read(store::read_request request, store::deadline_t) {
    ++page_reads;
    co_await pass();
    store::event_page page;
    page.bounds = bounds_of(request.stream);
    const store::offset_t end = std::min(request.through, page.bounds.head);
    page.scanned = std::max(request.after, end);
    for (store::offset_t offset = std::max(request.after, page.bounds.horizon) + 1; offset <= end;
         ++offset) {
        const store::new_event& stored =
            logs[request.stream].events[static_cast<std::size_t>(offset - 1)];
        if (!request.key.empty() && stored.key != request.key) continue;
        store::event_view view;
        view.offset = offset;
        view.payload = stored.payload;
        if (stored.key) view.key = *stored.key;
        page.events.push_back(view);
        if (page.events.size() == request.events_max) {
            page.scanned = offset;
            break;
        }
    }
    co_return page;
}

boost::asio::awaitable<std::optional<store::stream_info>>
scripted_engine::info(std::string stream, store::deadline_t) {
    ++info_reads;
    co_await pass();
    std::optional<store::stream_info> known;
    if (logs.contains(stream)) {
        known.emplace();
        known->stream = stream;
        known->bounds = bounds_of(stream);
    }
    co_return known;
}

boost::asio::awaitable<store::position> scripted_engine::locate(
    std::string stream, store::start_point start, std::string, store::deadline_t
) {
    co_await pass();
    store::position place;
    place.info.stream = stream;
    place.info.bounds = bounds_of(stream);
    if (start.kind == store::start_kind::last)
        place.after = std::max(place.info.bounds.horizon, place.info.bounds.head - start.value);
    else
        place.after = place.info.bounds.horizon;
    co_return place;
}

boost::asio::awaitable<store::append_outcome>
scripted_engine::append(store::append_request, store::deadline_t) {
    not_scripted();
    co_return store::append_outcome{};
}

boost::asio::awaitable<std::vector<store::stream_info>>
scripted_engine::streams(std::string, std::string, std::size_t, store::deadline_t) {
    not_scripted();
    co_return std::vector<store::stream_info>{};
}

boost::asio::awaitable<store::engine::created>
scripted_engine::create(std::string, store::deadline_t) {
    not_scripted();
    co_return created{};
}

boost::asio::awaitable<store::trim_outcome>
scripted_engine::trim(store::trim_request, store::deadline_t) {
    not_scripted();
    co_return store::trim_outcome{};
}

boost::asio::awaitable<store::save_outcome>
scripted_engine::save_offset(std::string, std::string, store::offset_t, store::deadline_t) {
    not_scripted();
    co_return store::save_outcome{};
}

boost::asio::awaitable<store::offset_t>
scripted_engine::get_offset(std::string, std::string, store::deadline_t) {
    not_scripted();
    co_return 0;
}

boost::asio::awaitable<std::vector<store::consumer_offset>>
scripted_engine::consumers(std::string, store::deadline_t) {
    not_scripted();
    co_return std::vector<store::consumer_offset>{};
}

boost::asio::awaitable<void>
scripted_engine::forget_consumer(std::string, std::string, store::deadline_t) {
    not_scripted();
    co_return;
}

boost::asio::awaitable<void> scripted_engine::transaction(
    std::function<boost::asio::awaitable<void>(store::tx_handle&)>, store::deadline_t
) {
    not_scripted();
    co_return;
}

boost::asio::awaitable<void> scripted_engine::probe(store::deadline_t) {
    co_return;
}

boost::asio::awaitable<void> scripted_engine::close() {
    co_return;
}

} // namespace streamld::test
