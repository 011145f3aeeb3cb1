#include "net/http_connection.hpp"

#include "net/chunked_decoder.hpp"
#include "net/detail/http_impl.hpp"
#include "net/head_parser.hpp"
#include "net/response_head.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>

namespace streamld::net {

namespace asio = boost::asio;
using asio::ip::tcp;

namespace {

// Of what is read at once while a head is awaited.
constexpr std::size_t head_read_bytes = 16 * 1024;

std::string address_of(const tcp::socket& socket) {
    boost::system::error_code ec;
    const auto peer = socket.remote_endpoint(ec);
    return ec ? std::string{} : peer.address().to_string();
}

void free_text(std::string& text) {
    std::string{}.swap(text);
}

} // namespace

http_connection::impl::impl(tcp::socket socket, const connection_context& context)
    : link(std::make_unique<wire>(std::move(socket), context)),
      peer_address_(address_of(link->socket)) {}

http_connection::impl::~impl() {
    if (watching_) *watching_ = nullptr;
}

void http_connection::impl::forget_request() {
    current = request{};
    current.peer_address = peer_address_;
    head_.clear();
    body.clear();
    has_read_body_ = false;
    is_refused_ = false;
}

void http_connection::impl::free_buffers() {
    current = request{};
    free_text(head_);
    free_text(body);
    free_text(input);
}

asio::awaitable<head_state> http_connection::impl::read_head() {
    forget_request();
    free_text(body);
    phase_ = phase::between;
    link->set_deadline_in(is_surplus_ ? limits().surplus_timeout : limits().idle_timeout);
    std::size_t looked_at = 0;
    for (;;) {
        drop_leading_line_breaks();
        if (!input.empty()) {
            if (phase_ == phase::between) link->set_deadline_in(limits().head_timeout);
            phase_ = phase::in_head;
            if (is_hopeless()) co_return refuse(400, "Speak HTTP/1.1 in the clear.");
            const auto end = find_head_end(input, looked_at);
            if (end != std::string::npos && end <= limits().head_bytes_max)
                co_return take_head(end);
            if (input.size() > limits().head_bytes_max) {
                const bool is_target = input.find('\n') > limits().target_bytes_max;
                co_return is_target ? refuse(414, "Shorten the path or query.")
                                    : refuse(431, "Send fewer or shorter headers.");
            }
            looked_at = input.size();
        }
        is_waiting_for_head_ = true;
        const auto outcome = co_await link->receive(input, head_read_bytes);
        is_waiting_for_head_ = false;
        if (outcome == wire::received::more) continue;
        const bool is_slow = outcome == wire::received::timed_out && phase_ == phase::in_head;
        if (!is_slow) co_return head_state::closed;
        co_return refuse(408, "Send the whole head of the request sooner.");
    }
}

// A line break in front of a request line is to be ignored (RFC 9112, 2.2).
void http_connection::impl::drop_leading_line_breaks() {
    if (phase_ == phase::between)
        input.erase(0, std::min(input.find_first_not_of("\r\n"), input.size()));
}

// No method begins like this, so there is no head to wait for: TLS on the wrong port, for example.
bool http_connection::impl::is_hopeless() const noexcept {
    const auto first = static_cast<unsigned char>(input.front());
    return first <= 0x20 || first >= 0x7f;
}

head_state http_connection::impl::refuse(int status, std::string detail) {
    refused = refusal{status, "invalid-request", std::move(detail)};
    is_refused_ = true;
    phase_ = phase::in_request;
    link->clear_deadline();
    return head_state::refused;
}

head_state http_connection::impl::take_head(std::size_t head_bytes) {
    link->clear_deadline();
    head_.assign(input, 0, head_bytes);
    input.erase(0, head_bytes);
    phase_ = phase::in_request;
    auto fault = parse_head(head_, limits().target_bytes_max, current);
    if (!fault) return head_state::ready;
    refused = *std::move(fault);
    is_refused_ = true;
    return head_state::refused;
}

asio::awaitable<body_state> http_connection::impl::read_body(std::size_t bytes_max) {
    if (!current.has_body) {
        has_read_body_ = true;
        co_return body_state::ready;
    }
    if (current.content_length && *current.content_length > bytes_max) {
        co_return body_state::too_large;
    }
    if (current.expects_continue && input.empty()) {
        link->out.push(piece{nullptr, "HTTP/1.1 100 Continue\r\n\r\n"});
        link->out.flush();
    }
    body_end_ = wire::clock::now() + limits().body_total_timeout;
    auto reading = current.content_length
                       ? read_sized_body(static_cast<std::size_t>(*current.content_length))
                       : read_chunked_body(bytes_max);
    const auto outcome = co_await std::move(reading);
    link->clear_deadline();
    has_read_body_ = outcome == body_state::ready;
    co_return outcome;
}

asio::awaitable<wire::received>
http_connection::impl::receive_body(std::string& into, std::size_t bytes_max) {
    const auto patience = wire::clock::now() + limits().body_timeout;
    link->set_deadline(std::min(patience, body_end_));
    return link->receive(into, bytes_max);
}

asio::awaitable<body_state> http_connection::impl::read_sized_body(std::size_t bytes) {
    const auto at_hand = std::min(bytes, input.size());
    body.assign(input, 0, at_hand);
    input.erase(0, at_hand);
    while (body.size() < bytes) {
        const auto outcome = co_await receive_body(body, bytes - body.size());
        if (outcome == wire::received::timed_out) co_return body_state::timed_out;
        if (outcome == wire::received::left) co_return body_state::cut;
    }
    co_return body_state::ready;
}

asio::awaitable<body_state> http_connection::impl::read_chunked_body(std::size_t bytes_max) {
    chunked_decoder decoder;
    for (;;) {
        std::string_view rest = input;
        const auto progress = decoder.feed(rest, body, bytes_max);
        input.erase(0, input.size() - rest.size());
        if (progress == chunked_decoder::progress::done) co_return body_state::ready;
        if (progress == chunked_decoder::progress::malformed) co_return body_state::malformed;
        if (progress == chunked_decoder::progress::too_large) co_return body_state::too_large;
        const auto outcome = co_await receive_body(input, scratch::bytes);
        if (outcome == wire::received::timed_out) co_return body_state::timed_out;
        if (outcome == wire::received::left) co_return body_state::cut;
    }
}

asio::awaitable<bool> http_connection::impl::respond(response answer) {
    const bool is_body_unread = current.has_body && !has_read_body_;
    response_framing framing;
    framing.keeps_alive = current.keep_alive && !answer.must_close && !is_body_unread &&
                          !is_draining_ && !is_refused_;
    framing.says_keep_alive = current.version < 11;
    const bool has_body = may_have_body(answer.status) && current.method != "HEAD";
    // HEAD of a body without an end, or of unknown length, says no length (RFC 9110, 8.6).
    const bool is_length_known = current.method != "HEAD" || !answer.body.empty();
    if (may_have_body(answer.status) && is_length_known)
        framing.content_length = answer.body.size();
    auto text = std::make_shared<std::string>(response_head(answer, framing));
    if (has_body) *text += answer.body;
    link->context.shard_probes.request_answered(answer.status);
    link->out.push(piece{text, *text});
    link->out.flush();
    if (!framing.keeps_alive) {
        co_await link->end_gently();
        co_return false;
    }
    if (link->out.pending_bytes() > 0) {
        const bool all_sent = co_await link->out.drained();
        co_return all_sent;
    }
    co_return !link->out.is_closed();
}

void http_connection::impl::begin_stream(response head, bool chunked) {
    is_head_request_ = current.method == "HEAD";
    is_finite_ = chunked;
    is_chunked = chunked && current.version >= 11;
    response_framing framing;
    framing.is_chunked = is_chunked;
    framing.keeps_alive = false;
    link->context.shard_probes.request_answered(head.status);
    link->out.push_copy(response_head(head, framing));
    discarded_bytes_ = input.size();
    free_buffers();
    phase_ = phase::streaming;
    link->clear_deadline();
    watching_ = std::make_shared<impl*>(this);
    watch_peer();
}

void http_connection::impl::push_body(piece part) {
    if (is_head_request_ || part.bytes.empty()) return;
    if (!is_chunked) {
        link->out.push(std::move(part));
        return;
    }
    char size[20];
    const auto length = std::snprintf(size, sizeof size, "%zx\r\n", part.bytes.size());
    link->out.push_copy({size, static_cast<std::size_t>(length)});
    link->out.push(std::move(part));
    link->out.push(piece{nullptr, "\r\n"});
}

asio::awaitable<void> http_connection::impl::end_stream() {
    if (is_chunked && !is_head_request_) link->out.push(piece{nullptr, "0\r\n\r\n"});
    const bool all_sent = co_await link->out.drained();
    if (watching_) *watching_ = nullptr;
    watching_.reset();
    // The watcher's wait ends; from here on end_gently() reads.
    boost::system::error_code ignored;
    link->socket.cancel(ignored);
    if (all_sent) {
        co_await link->end_gently();
    } else {
        link->abort();
    }
}

void http_connection::impl::watch_peer() {
    link->socket.async_wait(
        tcp::socket::wait_read,
        [shared = watching_](boost::system::error_code) {
            // Also after a cancel: reading tells whether the peer is there.
            if (auto* const self = *shared) self->discard_from_peer();
        }
    );
}

// What a client sends during a stream has no meaning. Its end of sending is its leaving, unless the
// answer ends by itself: then it may only have said all it had to say (`nc -N`), and if it did
// leave, the next write tells.
void http_connection::impl::discard_from_peer() {
    constexpr std::size_t discarded_bytes_max = 64 * 1024;
    const auto outcome = link->discard();
    discarded_bytes_ += outcome.bytes;
    if (outcome.has_left && is_finite_) return;
    if (outcome.has_left || discarded_bytes_ > discarded_bytes_max) {
        link->out.close();
        return;
    }
    watch_peer();
}

void http_connection::impl::begin_drain() {
    is_draining_ = true;
    if (is_waiting_for_head_ && phase_ == phase::between) link->expire();
}

void http_connection::impl::serve_one_request() {
    is_draining_ = true;
    is_surplus_ = true;
}

// The public face.

http_connection::http_connection(tcp::socket socket, const connection_context& context)
    : impl_(std::make_unique<impl>(std::move(socket), context)) {}

http_connection::~http_connection() = default;

asio::awaitable<head_state> http_connection::read_head() {
    return impl_->read_head();
}

const request& http_connection::current() const noexcept {
    return impl_->current;
}

const refusal& http_connection::why_refused() const noexcept {
    return impl_->refused;
}

asio::awaitable<body_state> http_connection::read_body(std::size_t bytes_max) {
    return impl_->read_body(bytes_max);
}

std::string& http_connection::body() noexcept {
    return impl_->body;
}

asio::awaitable<bool> http_connection::respond(response answer) {
    return impl_->respond(std::move(answer));
}

void http_connection::begin_stream(response head, bool chunked) {
    impl_->begin_stream(std::move(head), chunked);
}

bool http_connection::is_chunked() const noexcept {
    return impl_->is_chunked;
}

void http_connection::push_body(piece part) {
    impl_->push_body(std::move(part));
}

asio::awaitable<void> http_connection::end_stream() {
    return impl_->end_stream();
}

outbox& http_connection::out() noexcept {
    return impl_->link->out;
}

void http_connection::begin_drain() {
    if (impl_) impl_->begin_drain();
}

void http_connection::serve_one_request() {
    impl_->serve_one_request();
}

bool http_connection::takes_answer() const noexcept {
    return impl_ && impl_->takes_answer();
}

void http_connection::abort() {
    if (impl_) impl_->link->abort();
}

std::optional<refusal> http_connection::why_no_upgrade() const {
    return upgrade_fault(impl_->current);
}

} // namespace streamld::net
