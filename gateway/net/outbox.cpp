#include "net/outbox.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>
#include <sys/socket.h>
#include <sys/uio.h>
#include <utility>

namespace streamld::net {

namespace asio = boost::asio;

namespace {

// Pieces in one gather write; the kernel's own limit (IOV_MAX) is 1024.
constexpr std::size_t gather_max = 512;

// So many sent pieces may stand in front of the unsent ones before the vector is tidied.
constexpr std::size_t sent_pieces_max = 256;

bool would_block(int error) noexcept {
    return error == EAGAIN || error == EWOULDBLOCK;
}

} // namespace

outbox::outbox(asio::ip::tcp::socket& socket, turn& owner, probes& counters, std::size_t high_water)
    : socket_(socket), turn_(owner), probes_(counters), high_water_(high_water),
      flush_task_([](void* self) noexcept { static_cast<outbox*>(self)->flush(); }, this),
      last_push_(clock::now()) {}

outbox::~outbox() {
    if (waiting_) *waiting_ = nullptr;
}

void outbox::push(piece whole) {
    if (is_closed() || whole.bytes.empty()) return;
    // The clock is read once a turn, not once a piece.
    if (!flush_task_.is_queued()) last_push_ = clock::now();
    if (pending_bytes_ == 0) last_progress_ = last_push_;
    pending_bytes_ += whole.bytes.size();
    if (!waiting_) turn_.at_end(flush_task_);
    if (!pieces_.empty() && pieces_.back().owner && pieces_.back().owner == whole.owner) {
        auto& last = pieces_.back().bytes;
        if (last.data() + last.size() == whole.bytes.data()) {
            last = {last.data(), last.size() + whole.bytes.size()};
            return;
        }
    }
    pieces_.push_back(std::move(whole));
}

void outbox::push_copy(std::string_view text) {
    if (is_closed() || text.empty()) return;
    const auto copy = std::make_shared<const std::string>(text);
    push(piece{copy, *copy});
}

void outbox::flush() {
    if (is_closed_ || pending_bytes_ == 0 || waiting_) return;
    const bool was_ready = is_ready();
    while (pending_bytes_ > 0) {
        const auto asked = pending_bytes_;
        const auto sent = send_once();
        if (is_closed_) return;
        if (sent == 0 && asked == pending_bytes_) {
            wait_for_socket();
            break;
        }
    }
    if (pending_bytes_ == 0 || (!was_ready && is_ready())) notify_watchers();
}

std::size_t outbox::send_once() {
    std::array<iovec, gather_max> gathered;
    std::size_t count = 0;
    for (auto at = front_; at < pieces_.size() && count < gather_max; ++at) {
        auto bytes = pieces_[at].bytes;
        if (at == front_) bytes.remove_prefix(front_sent_);
        gathered[count++] = iovec{const_cast<char*>(bytes.data()), bytes.size()};
    }
    msghdr message{};
    message.msg_iov = gathered.data();
    message.msg_iovlen = count;
    for (;;) {
        const auto sent = ::sendmsg(socket_.native_handle(), &message, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent >= 0) {
            probes_.bytes_sent(static_cast<std::size_t>(sent));
            drop_sent(static_cast<std::size_t>(sent));
            return static_cast<std::size_t>(sent);
        }
        if (errno == EINTR) continue;
        if (!would_block(errno)) close();
        return 0;
    }
}

void outbox::drop_sent(std::size_t bytes) noexcept {
    pending_bytes_ -= bytes;
    last_progress_ = clock::now();
    front_sent_ += bytes;
    while (front_ < pieces_.size() && front_sent_ >= pieces_[front_].bytes.size()) {
        front_sent_ -= pieces_[front_].bytes.size();
        pieces_[front_++] = {};
    }
    if (front_ == pieces_.size()) {
        // Idle connections hold nothing.
        std::vector<piece>{}.swap(pieces_);
        front_ = 0;
    } else if (front_ >= sent_pieces_max) {
        pieces_.erase(pieces_.begin(), pieces_.begin() + static_cast<std::ptrdiff_t>(front_));
        front_ = 0;
    }
}

void outbox::wait_for_socket() {
    waiting_ = std::make_shared<outbox*>(this);
    socket_.async_wait(
        asio::ip::tcp::socket::wait_write,
        [link = waiting_](boost::system::error_code) {
            auto* const self = *link;
            if (self == nullptr) return;
            self->waiting_.reset();
            // Also after a cancel, which a deadline of the reading side may have caused.
            self->flush();
        }
    );
}

void outbox::watch(wakeup& waiting) {
    watchers_.push_back(&waiting);
}

void outbox::unwatch(wakeup& waiting) noexcept {
    std::erase(watchers_, &waiting);
    if (watchers_.empty()) std::vector<wakeup*>{}.swap(watchers_);
}

void outbox::notify_watchers() noexcept {
    for (auto* const each : watchers_) {
        each->notify();
    }
}

void outbox::seal() noexcept {
    if (is_closed()) return;
    is_sealed_ = true;
    notify_watchers();
}

void outbox::keep_only_started() noexcept {
    if (pieces_.empty()) return;
    last_progress_ = clock::now();
    const auto kept = front_ + (front_sent_ > 0 ? 1 : 0);
    for (auto at = kept; at < pieces_.size(); ++at) {
        pending_bytes_ -= pieces_[at].bytes.size();
    }
    pieces_.resize(kept);
    if (pending_bytes_ == 0) {
        std::vector<piece>{}.swap(pieces_);
        front_ = 0;
    }
}

void outbox::close() noexcept {
    if (is_closed_) return;
    is_closed_ = true;
    pending_bytes_ = 0;
    front_ = 0;
    front_sent_ = 0;
    std::vector<piece>{}.swap(pieces_);
    notify_watchers();
}

outbox::clock::time_point outbox::stuck_since() const noexcept {
    return pending_bytes_ == 0 ? clock::time_point::max() : last_progress_;
}

asio::awaitable<bool> outbox::drained() {
    struct watching {
        outbox& box;
        wakeup waiting;

        explicit watching(outbox& watched) : box(watched), waiting(watched.turn_) {
            box.watch(waiting);
        }

        ~watching() { box.unwatch(waiting); }
    };

    watching here{*this};
    while (!is_closed_ && pending_bytes_ > 0) {
        co_await here.waiting.wait();
    }
    co_return !is_closed_;
}

} // namespace streamld::net
