#include "store/postgres/pool.hpp"

#include <algorithm>
#include <exception>
#include <utility>

namespace streamld::store::postgres {

namespace {

namespace asio = boost::asio;
using clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// How long connecting is not tried again after it has failed.
constexpr milliseconds pause_least{100};
constexpr milliseconds pause_most{2000};

// A connect that was given less time than this and used it up says nothing about the database.
constexpr milliseconds fair_patience{1000};

} // namespace

// ---------------------------------------------------------------- lease

lease::lease(pool& owner, std::unique_ptr<connection> lent, std::uint64_t generation) noexcept
    : owner_(owner.self_), lent_(std::move(lent)), generation_(generation) {}

lease::lease(lease&& other) noexcept = default;

lease& lease::operator=(lease&& other) noexcept {
    if (this == &other) return *this;
    give_back();
    owner_ = std::move(other.owner_);
    lent_ = std::move(other.lent_);
    generation_ = other.generation_;
    return *this;
}

lease::~lease() {
    give_back();
}

void lease::give_back() noexcept {
    const auto owner = std::exchange(owner_, nullptr);
    auto lent = std::exchange(lent_, nullptr);
    if (lent && *owner != nullptr) (*owner)->take_back(std::move(lent), generation_);
}

// ---------------------------------------------------------------- pool

pool::pool(asio::any_io_executor loop, const dsn& where, std::size_t connections_max)
    : loop_(std::move(loop)), where_(where), connections_max_(connections_max) {}

pool::~pool() {
    *self_ = nullptr;
}

asio::awaitable<lease> pool::acquire(deadline_t deadline) {
    co_await take_seat(deadline);
    const std::uint64_t generation = generation_;
    std::unique_ptr<connection> lent = take_idle();
    try {
        if (!lent) lent = co_await open(deadline);
    } catch (...) {
        leave_seat();
        throw;
    }
    lease granted(*this, std::move(lent), generation);
    if (is_closed_) throw error(errc::closed);
    co_return granted;
}

/// Holds a turn for as long as its coroutine exists, which may be shorter than its wait.
class pool::place {
public:
    place(std::shared_ptr<std::list<turn>> line, const asio::any_io_executor& loop)
        : line_(std::move(line)), own_(line_->emplace(line_->end(), loop)) {}

    place(const place&) = delete;
    place& operator=(const place&) = delete;

    ~place() { line_->erase(own_); }

    [[nodiscard]] turn& own() const noexcept { return *own_; }

private:
    std::shared_ptr<std::list<turn>> line_;
    std::list<turn>::iterator own_;
};

asio::awaitable<void> pool::take_seat(deadline_t deadline) {
    if (is_closed_) throw error(errc::closed);
    if (lent_ < connections_max_) {
        ++lent_;
        show_count();
        co_return;
    }
    const place waiting(line_, loop_);
    turn& own = waiting.own();
    // A seat that was given is kept, also where the deadline or close() came at the same time.
    while (!own.has_seat) {
        if (is_closed_) throw error(errc::closed);
        if (clock::now() >= deadline)
            throw error(errc::busy, "no connection to the database came free in time");
        co_await own.came.wait(deadline);
    }
}

void pool::leave_seat() noexcept {
    const auto first =
        std::find_if(line_->begin(), line_->end(), [](const turn& each) { return !each.has_seat; });
    if (first == line_->end()) {
        --lent_;
        show_count();
        return;
    }
    first->has_seat = true;
    first->came.notify();
}

std::unique_ptr<connection> pool::take_idle() noexcept {
    // The latest first: the others may rest.
    while (!idle_.empty()) {
        auto latest = std::move(idle_.back());
        idle_.pop_back();
        if (latest->is_alive()) return latest;
    }
    return nullptr;
}

asio::awaitable<std::unique_ptr<connection>> pool::open(deadline_t deadline) {
    const auto began = clock::now();
    if (is_closed_) throw error(errc::closed);
    if (last_fault_ && began < refuse_until_) throw postgres_fault(*last_fault_);
    std::unique_ptr<connection> opened;
    try {
        opened = co_await connection::open(loop_, where_, deadline);
    } catch (const postgres_fault& fault) {
        if (clock::now() < deadline || deadline - began >= fair_patience) note_failure(fault);
        throw;
    }
    last_fault_.reset();
    pause_ = {};
    co_return opened;
}

void pool::note_failure(const postgres_fault& fault) noexcept {
    const auto now = clock::now();
    // Those that began together fail together, and count once.
    if (last_fault_ && now < refuse_until_) return;
    pause_ = std::clamp(pause_ * 2, pause_least, pause_most);
    refuse_until_ = now + pause_;
    last_fault_.emplace(fault);
}

void pool::take_back(std::unique_ptr<connection> lent, std::uint64_t generation) noexcept {
    const bool is_fit = !is_closed_ && generation == generation_ && !lent->is_in_transaction();
    if (is_fit) idle_.push_back(std::move(lent));
    lent.reset();
    leave_seat();
}

// One that is on its way to a waiter counts once, as idle and with the waiter's seat.
void pool::show_count() noexcept {
    shown_.store(std::min(idle_.size() + lent_, connections_max_));
}

void pool::renew() noexcept {
    ++generation_;
    idle_.clear();
    show_count();
}

void pool::close() noexcept {
    is_closed_ = true;
    idle_.clear();
    show_count();
    for (turn& waiting : *line_)
        waiting.came.notify();
}

} // namespace streamld::store::postgres
