#include "base/turn.hpp"

#include <boost/asio/post.hpp>

namespace streamld {

namespace {

// So many rounds of woken coroutines waking others before the kernel is asked for news again.
constexpr int rounds_max = 8;

} // namespace

void turn::soon(task& work) {
    if (!work.is_linked()) soon_.push_back(work);
    arm();
}

void turn::at_end(task& work) {
    if (!work.is_linked()) at_end_.push_back(work);
    arm();
}

void turn::arm() {
    if (is_armed_) return;
    is_armed_ = true;
    boost::asio::post(loop_, [this] { run(); });
}

void turn::run() {
    queue tasks;
    for (int round = 0; round < rounds_max && !soon_.empty(); ++round) {
        drain(tasks, soon_);
    }
    drain(tasks, at_end_);
    // Armed until here: what the tasks queued needed no post of its own.
    is_armed_ = false;
    if (!soon_.empty() || !at_end_.empty()) arm();
}

void turn::drain(queue& tasks, queue& source) {
    // Takes only what is there now. A task may destroy any other: it unlinks itself from this list
    // too.
    tasks.swap(source);
    while (!tasks.empty()) {
        task& next = tasks.front();
        tasks.pop_front();
        next.act_(next.self_);
    }
}

} // namespace streamld
