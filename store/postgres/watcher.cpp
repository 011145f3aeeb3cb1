#include "store/postgres/watcher.hpp"

#include "store/postgres/queries.hpp"

#include <algorithm>
#include <optional>
#include <random>

namespace streamld::store::postgres {

namespace {

using clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr std::int64_t changed_max = 4096; // More changed streams at once: look at all.
constexpr std::chrono::seconds patience{5};
constexpr milliseconds answer_patience{2000};    // For a notification to arrive.
constexpr std::chrono::seconds ask_interval{10}; // Between two questions to itself.
constexpr milliseconds pause_least{20};          // Between two attempts to listen.
constexpr milliseconds pause_most{500};

/// A fault with all that the log may know of it.
struct told_fault {
    explicit told_fault(const error& fault) : what(fault), words(fault.detail()) {
        if (const auto* database = dynamic_cast<const postgres_fault*>(&fault))
            words += ": " + database->words();
    }

    error what;
    std::string words;
};

} // namespace

watcher::watcher(
    engine_loop& loop,
    const dsn& listen_at,
    pool& background,
    store_observer& observer,
    const open_options& options
)
    : loop_(loop), listen_at_(listen_at), background_(background), observer_(observer),
      options_(options), poll_trouble_(observer), listen_trouble_(observer),
      name_(std::to_string(std::random_device{}())), poll_now_(loop.executor()),
      closing_(loop.executor()) {}

void watcher::start() {
    loop_.spawn(poll());
    if (options_.postgres.notify) loop_.spawn(listen());
}

void watcher::close() noexcept {
    is_closing_ = true;
    poll_now_.notify();
    closing_.notify();
    if (ear_) ear_->abort();
}

// ---------------------------------------------------------------- what is known

void watcher::saw_own(commit_report appends) {
    for (const auto& append : appends) {
        offset_t& head = known_[std::string(append.stream)];
        head = std::max(head, append.first + static_cast<offset_t>(append.events.size()) - 1);
    }
}

void watcher::tell(std::vector<store_observer::grown_stream> streams) {
    std::erase_if(streams, [this](const store_observer::grown_stream& grown) {
        offset_t& head = known_[grown.stream];
        const bool is_old = grown.head <= head;
        head = std::max(head, grown.head);
        return is_old;
    });
    if (!streams.empty()) observer_.grown(std::move(streams));
}

// ---------------------------------------------------------------- the poll

boost::asio::awaitable<void> watcher::poll() {
    while (!is_closing_) {
        must_look_ = false;
        std::optional<told_fault> fault;
        try {
            co_await look();
        } catch (const error& caught) {
            fault.emplace(caught);
        }
        if (is_closing_) co_return;
        if (fault) {
            poll_trouble_.raise(fault->what, "looking for new events: " + fault->words);
            // Another server may answer next time, with other transaction numbers.
            snapshot_.clear();
            must_look_ = false;
        } else {
            poll_trouble_.clear();
        }
        if (!must_look_) co_await poll_now_.wait(clock::now() + options_.poll_interval);
    }
}

void watcher::poke() noexcept {
    must_look_ = true; // A look under way may have begun too early.
    poll_now_.notify();
}

boost::asio::awaitable<void> watcher::look() {
    const auto until = clock::now() + patience;
    lease db = co_await background_.acquire(until);
    const bool is_first = snapshot_.empty();
    query what(is_first ? queries::current_snapshot : queries::changed_streams);
    if (!is_first) what.text(snapshot_).integer(changed_max + 1);
    // What is told from here on may be newer than the answer, and then must not be told again.
    known_.clear();
    const result rows = co_await ask(*db, std::move(what), until);
    snapshot_ = rows.text(0, 0);
    if (is_first || rows.rows() > changed_max) {
        observer_.look_at_all();
        co_return;
    }
    std::vector<store_observer::grown_stream> grown;
    for (int row = 0; row < rows.rows(); ++row) {
        if (rows.is_null(row, 1)) continue;
        store_observer::grown_stream& added = grown.emplace_back();
        added.stream = rows.text(row, 1);
        added.head = rows.integer(row, 2);
    }
    tell(std::move(grown));
}

// ---------------------------------------------------------------- the listener

boost::asio::awaitable<void> watcher::listen() {
    milliseconds pause{0};
    while (!is_closing_) {
        const auto began = clock::now();
        std::optional<told_fault> fault;
        try {
            co_await listen_once();
        } catch (const error& caught) {
            fault.emplace(caught);
        }
        ear_.reset();
        const bool has_listened = is_listening_.exchange(false);
        set_notified(false);
        if (is_closing_) co_return;
        if (fault)
            listen_trouble_.raise(fault->what, "listening for notifications: " + fault->words);
        reconnects_.fetch_add(1);
        // What was committed meanwhile is looked for at once, not when the listener is back.
        poke();
        const bool was_good = has_listened && clock::now() - began > pause_most;
        pause = was_good ? milliseconds{0} : std::clamp(pause * 2, pause_least, pause_most);
        if (pause.count() > 0) co_await closing_.wait(clock::now() + pause);
    }
}

boost::asio::awaitable<void> watcher::listen_once() {
    const auto until = clock::now() + patience;
    ear_ = co_await connection::open(loop_.executor(), listen_at_, until);
    query listen(queries::listen);
    co_await ask(*ear_, std::move(listen), until);
    is_listening_.store(true);
    // Only now: whatever is committed after the LISTEN is heard.
    observer_.look_at_all();
    co_await hear(*ear_);
}

// Ends by a fault of the connection or the watcher's close.
boost::asio::awaitable<void> watcher::hear(connection& ear) {
    while (!is_closing_) {
        const std::string nonce = name_ + "." + std::to_string(++question_);
        loop_.spawn(ask_itself(nonce));
        bool is_answered = false;
        const auto asked = clock::now();
        auto until = asked + answer_patience;
        while (!is_closing_ && clock::now() < until) {
            const auto heard = co_await ear.next_notification(until);
            if (heard && take(*heard, nonce)) {
                is_answered = true;
                set_notified(true);
                listen_trouble_.clear();
                until = asked + ask_interval;
            }
        }
        if (is_answered || is_closing_) continue;
        const bool has_worked = is_notified_.load();
        set_notified(false);
        // It has worked and does not any more: perhaps the connection is only half there.
        if (has_worked) throw error(errc::unavailable, "notifications stopped arriving");
        listen_trouble_.raise(
            error(errc::unavailable),
            "notifications do not arrive (a pooler that works per transaction? set "
            "--postgres-listen-url to the server itself); looking every " +
                std::to_string(options_.poll_interval.count()) + " ms instead"
        );
        until = asked + ask_interval;
        while (!is_closing_ && clock::now() < until) {
            const auto heard = co_await ear.next_notification(until);
            if (heard) take(*heard, nonce);
        }
    }
}

boost::asio::awaitable<void> watcher::ask_itself(std::string nonce) {
    try {
        const auto until = clock::now() + answer_patience;
        lease db = co_await background_.acquire(until);
        query question(queries::notify);
        question.text("? " + nonce);
        co_await ask(*db, std::move(question), until);
    } catch (const error&) {
        // No answer will come; hear() draws its conclusion.
    }
}

/// True if this is the answer to the question.
bool watcher::take(const notification& heard, const std::string& nonce) {
    hint read = read_hint(heard.payload);
    if (!read.nonce.empty()) return read.nonce == nonce;
    if (read.is_look) poke();
    tell(std::move(read.streams));
    return false;
}

void watcher::set_notified(bool is_notified) {
    is_notified_.store(is_notified);
}

} // namespace streamld::store::postgres
