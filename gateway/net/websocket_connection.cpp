#include "net/websocket_connection.hpp"

#include "base/nothrow.hpp"
#include "base/websocket_frame.hpp"
#include "net/detail/http_impl.hpp"
#include "net/detail/outbox_stream.hpp"

#include <boost/assert.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/websocket/stream.hpp>

#include <algorithm>
#include <utility>

namespace streamld::net {

namespace asio = boost::asio;
namespace http = boost::beast::http;
namespace websocket = boost::beast::websocket;
using boost::system::error_code;

namespace {

using stream = websocket::stream<detail::outbox_stream, false>;
using clock = std::chrono::steady_clock;

// What an idle connection keeps ready for a message, and what it may keep of a past one.
constexpr std::size_t idle_read_bytes = 128;
constexpr std::size_t kept_bytes_max = 1024;
constexpr std::size_t read_bytes_max = 64 * 1024;

constexpr std::size_t close_reason_bytes_max = 123;
constexpr std::uint16_t close_normal = 1000;
constexpr std::uint16_t close_overloaded = 1013;

// At most 123 bytes, not cut inside a UTF-8 sequence.
std::string_view short_reason(std::string_view reason) {
    if (reason.size() <= close_reason_bytes_max) return reason;
    auto end = close_reason_bytes_max;
    while (end > 0 && (static_cast<unsigned char>(reason[end]) & 0xc0) == 0x80)
        --end;
    return reason.substr(0, end);
}

std::string close_frame(std::uint16_t code, std::string_view reason) {
    reason = short_reason(reason);
    std::string frame;
    frame.push_back('\x88'); // FIN, opcode close.
    frame.push_back(static_cast<char>(reason.size() + 2));
    frame.push_back(static_cast<char>(code >> 8));
    frame.push_back(static_cast<char>(code & 0xff));
    frame += reason;
    return frame;
}

// Only what Beast asks for: the request was judged by upgrade_fault(), and its lists may be spread
// over lines.
http::request<http::empty_body> plain_handshake(std::string_view key) {
    http::request<http::empty_body> handshake{http::verb::get, "/", 11};
    handshake.set(http::field::host, "streamld");
    handshake.set(http::field::connection, "upgrade");
    handshake.set(http::field::upgrade, "websocket");
    handshake.set(http::field::sec_websocket_version, "13");
    handshake.set(
        http::field::sec_websocket_key, boost::beast::string_view{key.data(), key.size()}
    );
    return handshake;
}

} // namespace

class websocket_connection::impl {
public:
    impl(std::unique_ptr<wire> connected, std::string already_read, std::size_t message_bytes_max);

    asio::awaitable<bool> accept(std::string key, std::string subprotocol);
    asio::awaitable<message_state> read();
    asio::awaitable<void> finish();
    void start_close(std::uint16_t code, std::string_view reason);

    std::unique_ptr<wire> link; // Outlives the stream above it.
    std::string message;
    std::string_view ending;

private:
    void note_end(error_code ec);
    void heard() noexcept;
    void tick(clock::time_point now);
    void look_for_life(clock::time_point now);

    stream beast_;
    clock::time_point heard_at_ = clock::now();
    int pings_unanswered_ = 0;
    bool is_reading_ = false;
    bool is_closing_ = false;
    bool is_ended_ = false;
    bool is_peer_gone_ = false;
};

websocket_connection::impl::impl(
    std::unique_ptr<wire> connected, std::string already_read, std::size_t message_bytes_max
)
    : link(std::move(connected)), beast_(*link, std::move(already_read)) {
    beast_.read_message_max(message_bytes_max);
    beast_.control_callback([this](websocket::frame_type, boost::beast::string_view) { heard(); });
    link->clear_deadline();
    link->on_tick = [this](clock::time_point now) { tick(now); };
}

asio::awaitable<bool> websocket_connection::impl::accept(std::string key, std::string subprotocol) {
    auto decorate = [&subprotocol](websocket::response_type& answer) {
        answer.set(http::field::server, "streamld");
        if (!subprotocol.empty()) answer.set(http::field::sec_websocket_protocol, subprotocol);
    };
    beast_.set_option(websocket::stream_base::decorator(decorate));
    const auto handshake = plain_handshake(key);
    const auto [ec] = co_await beast_.async_accept(handshake, nothrow);
    // It refers to this frame.
    beast_.set_option(websocket::stream_base::decorator([](websocket::response_type&) {}));
    link->context.shard_probes.request_answered(101);
    co_return !ec && !link->out.is_closed();
}

// One coroutine frame a waiting reader, not two: idle connections are made of such things.
asio::awaitable<message_state> websocket_connection::impl::read() {
    struct marked {
        bool& flag;

        explicit marked(bool& is_reading) : flag(is_reading) { flag = true; }

        ~marked() { flag = false; }
    };

    message.clear();
    if (message.capacity() > kept_bytes_max) std::string{}.swap(message);
    // While the caller was busy nobody listened, so silence proves nothing.
    heard();
    const marked here{is_reading_};
    while (!is_ended_) {
        if (link->has_timed_out()) {
            note_end(asio::error::operation_aborted);
            break;
        }
        const auto used = message.size();
        const auto room = std::min(beast_.read_size_hint(idle_read_bytes), read_bytes_max);
        message.resize(used + room);
        const auto buffer = asio::buffer(message.data() + used, room);
        const auto [ec, n] = co_await beast_.async_read_some(buffer, nothrow);
        message.resize(used + n);
        if (ec) {
            note_end(ec);
            break;
        }
        heard();
        if (is_closing_) {
            // Behind our close frame nothing is answered any more.
            message.clear();
        } else if (beast_.got_binary()) {
            co_return message_state::binary;
        } else if (beast_.is_message_done()) {
            co_return message_state::text;
        }
    }
    message.clear();
    co_return message_state::ended;
}

void websocket_connection::impl::note_end(error_code ec) {
    is_ended_ = true;
    // Without a close frame from either side nobody is there to be told.
    is_peer_gone_ = link->has_timed_out() || !link->out.is_closed();
    if (is_peer_gone_) link->out.close();
    if (!ending.empty()) return;
    const bool is_violation = ec.category() == error_code{websocket::error::closed}.category() &&
                              ec != websocket::error::closed;
    ending = is_violation ? "protocol" : "client";
}

void websocket_connection::impl::heard() noexcept {
    heard_at_ = clock::now();
    pings_unanswered_ = 0;
}

void websocket_connection::impl::tick(clock::time_point now) {
    if (is_ended_ || is_closing_) return;
    const auto since = link->out.stuck_since();
    const auto patience = link->context.limits.write_timeout;
    if (since != clock::time_point::max() && now - since >= patience) {
        ending = "stuck";
        link->out.keep_only_started();
        start_close(close_overloaded, "no progress of a write");
        return;
    }
    if (is_reading_) look_for_life(now);
}

void websocket_connection::impl::look_for_life(clock::time_point now) {
    const auto& limits = link->context.limits;
    if (link->out.pending_bytes() > 0) {
        // A ping would wait behind what waits already, so its silence proves nothing: whether this
        // peer takes what is sent is the write's deadline to judge.
        heard();
        return;
    }
    if (now - heard_at_ < limits.ping_interval * (pings_unanswered_ + 1)) return;
    if (pings_unanswered_ >= limits.pings_unanswered_max) {
        ending = "timeout";
        link->out.close();
        link->expire();
        return;
    }
    ++pings_unanswered_;
    // FIN, opcode ping, no payload.
    using std::string_view_literals::operator""sv;
    if (link->out.is_ready()) link->out.push(piece{nullptr, "\x89\x00"sv});
}

void websocket_connection::impl::start_close(std::uint16_t code, std::string_view reason) {
    if (is_closing_ || is_ended_ || link->out.is_closed()) return;
    is_closing_ = true;
    if (ending.empty()) ending = "server";
    link->out.push_copy(close_frame(code, reason));
    link->out.seal();
    link->set_deadline_in(link->context.limits.close_timeout);
}

asio::awaitable<void> websocket_connection::impl::finish() {
    if (!is_ended_) start_close(close_normal, "");
    while (!is_ended_) {
        co_await read();
    }
    if (is_peer_gone_) {
        link->abort();
    } else {
        co_await link->end_gently();
    }
}

// The public face.

websocket_connection::websocket_connection(std::unique_ptr<impl> inner) : impl_(std::move(inner)) {}

websocket_connection::~websocket_connection() = default;

asio::awaitable<message_state> websocket_connection::read() {
    return impl_->read();
}

std::string& websocket_connection::message() noexcept {
    return impl_->message;
}

void websocket_connection::send_text(std::string_view json) {
    auto frame = std::make_shared<std::string>();
    frame->reserve(text_frame_header_bytes(json.size()) + json.size());
    append_text_frame_header(*frame, json.size());
    *frame += json;
    impl_->link->out.push(piece{frame, *frame});
}

outbox& websocket_connection::out() noexcept {
    return impl_->link->out;
}

void websocket_connection::start_close(std::uint16_t code, std::string_view reason) {
    impl_->start_close(code, reason);
}

std::string_view websocket_connection::ending() const noexcept {
    return impl_->ending;
}

asio::awaitable<void> websocket_connection::finish() {
    return impl_->finish();
}

void websocket_connection::abort() {
    impl_->link->abort();
}

asio::awaitable<std::unique_ptr<websocket_connection>>
http_connection::upgrade(std::string subprotocol, std::size_t message_bytes_max) {
    BOOST_ASSERT(!why_no_upgrade());
    std::string key{*current().find("Sec-WebSocket-Key")};
    auto inner = std::make_unique<websocket_connection::impl>(
        std::move(impl_->link), std::move(impl_->input), message_bytes_max
    );
    impl_.reset();
    const bool is_open = co_await inner->accept(std::move(key), std::move(subprotocol));
    std::unique_ptr<websocket_connection> upgraded;
    if (is_open) upgraded.reset(new websocket_connection(std::move(inner)));
    co_return upgraded;
}

} // namespace streamld::net
