#include "store/postgres/notifier.hpp"

#include "store/postgres/queries.hpp"

#include <algorithm>
#include <charconv>

namespace streamld::store::postgres {

namespace {

constexpr std::size_t payload_bytes_max = 7900; // The server's limit is 7999.
constexpr std::size_t payloads_max = 8;         // Beyond, "*" is cheaper for everybody.
constexpr std::chrono::seconds patience{2};

// A notification costs every gateway a wake and the server a transaction, so under load they keep
// this distance. The first after a pause goes at once.
constexpr std::chrono::milliseconds distance{3};

/// `<head> <stream>`; false if it is none.
bool read_line(std::string_view line, store_observer::grown_stream& grown) {
    const auto space = line.find(' ');
    if (space == std::string_view::npos || space + 1 == line.size()) return false;
    const char* const end = line.data() + space;
    const auto [rest, fault] = std::from_chars(line.data(), end, grown.head);
    grown.stream = line.substr(space + 1);
    return fault == std::errc() && rest == end && grown.head > 0;
}

} // namespace

hint read_hint(const std::string& payload) {
    hint read;
    std::string_view left = payload;
    if (left.starts_with("? ")) {
        read.nonce = left.substr(2);
        return read;
    }
    while (!left.empty()) {
        const auto end = std::min(left.find('\n'), left.size());
        store_observer::grown_stream grown;
        if (read_line(left.substr(0, end), grown)) {
            read.streams.push_back(std::move(grown));
        } else {
            read.is_look = true;
        }
        left.remove_prefix(std::min(end + 1, left.size()));
    }
    read.is_look = read.is_look || read.streams.empty();
    return read;
}

notifier::notifier(engine_loop& loop, pool& background)
    : loop_(loop), background_(background), changed_(loop.executor()), pause_(loop.executor()) {}

void notifier::start() {
    loop_.spawn(serve());
}

void notifier::add(commit_report appends) {
    for (const auto& append : appends) {
        const offset_t last = append.first + static_cast<offset_t>(append.events.size()) - 1;
        offset_t& head = heads_[std::string(append.stream)];
        head = std::max(head, last);
    }
    changed_.notify();
}

void notifier::close() noexcept {
    is_closing_ = true;
    changed_.notify();
    pause_.notify();
}

std::vector<std::string> notifier::take_payloads() {
    std::vector<std::string> payloads;
    for (const auto& [stream, head] : heads_) {
        const std::string line = std::to_string(head) + " " + stream;
        if (payloads.empty() || payloads.back().size() + line.size() + 1 > payload_bytes_max)
            payloads.emplace_back();
        if (!payloads.back().empty()) payloads.back() += '\n';
        payloads.back() += line;
    }
    heads_.clear();
    if (payloads.size() > payloads_max) payloads.assign(1, "*");
    return payloads;
}

boost::asio::awaitable<void> notifier::serve() {
    for (;;) {
        while (heads_.empty()) {
            if (is_closing_) co_return;
            co_await changed_.wait(deadline_t::max());
        }
        const auto began = std::chrono::steady_clock::now();
        const auto until = began + patience;
        try {
            // The connection first: meanwhile more comes together.
            lease db = co_await background_.acquire(until);
            std::vector<query> tell;
            for (const std::string& payload : take_payloads())
                tell.emplace_back(queries::notify).text(payload);
            co_await db->exchange(std::move(tell), until);
        } catch (const error&) {
            heads_.clear();
        }
        co_await pause_.wait(began + distance);
    }
}

} // namespace streamld::store::postgres
