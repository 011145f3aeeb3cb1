#include "store/sqlite/session.hpp"

namespace streamld::store::sqlite {

namespace {

std::exception_ptr over() {
    return std::make_exception_ptr(error(errc::busy, "the transaction is over"));
}

} // namespace

void session::push(std::unique_ptr<job<ledger>> step) {
    std::exception_ptr refusal;
    {
        const std::lock_guard lock(mutex_);
        if (is_closed_ || ending_ != ending::none) {
            refusal = closed_with_ ? closed_with_ : over();
        } else {
            steps_.push_back(std::move(step));
        }
    }
    if (refusal) {
        step->refuse(refusal);
    } else {
        changed_.notify_one();
    }
}

boost::asio::awaitable<nothing> session::finish(ending how) {
    auto start = [this, how](completion<nothing> done) {
        std::exception_ptr refusal;
        {
            const std::lock_guard lock(mutex_);
            if (is_closed_) {
                refusal = closed_with_ ? closed_with_ : over();
            } else {
                ending_ = how;
                ended_ = std::move(done);
            }
        }
        if (refusal) {
            done.fail(refusal);
        } else {
            changed_.notify_one();
        }
    };
    return await_completion<nothing>(std::move(start));
}

void session::abandon() noexcept {
    {
        const std::lock_guard lock(mutex_);
        if (is_closed_ || ending_ != ending::none) return;
        ending_ = ending::roll_back;
    }
    changed_.notify_one();
}

checked_append& session::keep(checked_append publish) {
    return *kept_.emplace_back(std::make_unique<checked_append>(std::move(publish)));
}

std::unique_ptr<job<ledger>> session::next(deadline_t until) {
    std::unique_lock lock(mutex_);
    changed_.wait_until(lock, until, [this] { return !steps_.empty() || ending_ != ending::none; });
    if (steps_.empty()) return nullptr;
    auto step = std::move(steps_.front());
    steps_.pop_front();
    return step;
}

session::ending session::asked_ending() {
    const std::lock_guard lock(mutex_);
    return steps_.empty() ? ending_ : ending::none;
}

void session::close(std::exception_ptr fault) noexcept {
    std::deque<std::unique_ptr<job<ledger>>> left;
    completion<nothing> ended;
    {
        const std::lock_guard lock(mutex_);
        is_closed_ = true;
        closed_with_ = fault;
        left.swap(steps_);
        ended = std::move(ended_);
    }
    for (const auto& step : left)
        step->refuse(fault ? fault : over());
    if (!ended) return;
    if (fault) {
        ended.fail(fault);
    } else {
        ended.succeed({});
    }
}

} // namespace streamld::store::sqlite
