#include "store/postgres/engine_loop.hpp"

namespace streamld::store::postgres {

engine_loop::engine_loop()
    : work_(io_.get_executor()), idle_(io_.get_executor()), thread_([this] { io_.run(); }) {}

engine_loop::~engine_loop() {
    close([] {});
}

void engine_loop::spawn(boost::asio::awaitable<void> background) {
    boost::asio::co_spawn(io_, std::move(background), [](std::exception_ptr fault) {
        // Nobody is left to handle it: a bug, which stops the program.
        if (fault) std::rethrow_exception(fault);
    });
}

void engine_loop::close(std::function<void()> last) {
    {
        const std::lock_guard lock(mutex_);
        if (is_closed_) return;
        is_closed_ = true;
        boost::asio::post(io_, [this, last = std::move(last)]() mutable {
            spawn(finish(std::move(last)));
        });
    }
    thread_.join();
}

boost::asio::awaitable<void> engine_loop::finish(std::function<void()> last) {
    while (operations_ > 0)
        co_await idle_.wait(deadline_t::max());
    last();
    work_.reset();
}

} // namespace streamld::store::postgres
