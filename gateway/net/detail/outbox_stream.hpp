#pragma once
// The layer below Beast's WebSocket: reads from the socket (first what HTTP had already read),
// writes into the outbox as one copied piece a write, so that Beast's control frames queue between
// whole messages. Lives in the stream it serves; the wire outlives both.

#include "net/wire.hpp"

#include <boost/asio/async_result.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <boost/beast/core/bind_handler.hpp>
#include <boost/beast/core/role.hpp>

#include <memory>
#include <string>
#include <utility>

namespace streamld::net::detail {

class outbox_stream {
public:
    using executor_type = boost::asio::ip::tcp::socket::executor_type;
    using error_code = boost::system::error_code;

    outbox_stream(wire& link, std::string already_read)
        : link_(link), already_read_(std::move(already_read)), can_write_(link.context.shard_turn) {
    }

    // Beast may hold the stream to the end of the read that told its owner to go: the wire is gone
    // then, and must not be touched. A write that waits is a pending one, and the wire still there.
    ~outbox_stream() {
        if (is_waiting_) link_.out.unwatch(can_write_);
        can_write_.abandon();
    }

    outbox_stream(const outbox_stream&) = delete;
    outbox_stream& operator=(const outbox_stream&) = delete;

    executor_type get_executor() noexcept { return link_.socket.get_executor(); }

    template <typename MutableBuffers, typename Token>
    auto async_read_some(const MutableBuffers& to, Token&& token) {
        auto initiate = [this](auto handler, const MutableBuffers& buffers) {
            if (already_read_.empty()) {
                link_.socket.async_read_some(buffers, std::move(handler));
                return;
            }
            const auto n = boost::asio::buffer_copy(buffers, boost::asio::buffer(already_read_));
            already_read_.erase(0, n);
            if (already_read_.empty()) std::string{}.swap(already_read_);
            complete_soon(std::move(handler), error_code{}, n);
        };
        return boost::asio::async_initiate<Token, void(error_code, std::size_t)>(
            std::move(initiate), token, to
        );
    }

    template <typename ConstBuffers, typename Token>
    auto async_write_some(const ConstBuffers& from, Token&& token) {
        auto initiate = [this](auto handler, const ConstBuffers& buffers) {
            const auto n = push(buffers);
            if (link_.out.is_ready() || link_.out.is_closed()) {
                complete_soon(std::move(handler), error_code{}, n);
                return;
            }
            // A peer that asks without reading answers is not read on: its pings gather with it,
            // not here.
            link_.out.watch(can_write_);
            is_waiting_ = true;
            using waiter = write_waiter<decltype(handler)>;
            can_write_.wait_with(std::make_unique<waiter>(*this, std::move(handler), n));
        };
        return boost::asio::async_initiate<Token, void(error_code, std::size_t)>(
            std::move(initiate), token, from
        );
    }

    void abort() noexcept { link_.abort(); }

private:
    template <typename Handler>
    class write_waiter final : public wakeup::waiter {
    public:
        write_waiter(outbox_stream& owner, Handler handler, std::size_t bytes)
            : owner_(owner), handler_(std::move(handler)), bytes_(bytes) {}

        void complete(error_code) override {
            owner_.link_.out.unwatch(owner_.can_write_);
            owner_.is_waiting_ = false;
            complete_soon_on(owner_.get_executor(), std::move(handler_), error_code{}, bytes_);
        }

    private:
        outbox_stream& owner_;
        Handler handler_;
        std::size_t bytes_;
    };

    template <typename ConstBuffers>
    std::size_t push(const ConstBuffers& buffers) {
        std::string bytes(boost::asio::buffer_size(buffers), '\0');
        boost::asio::buffer_copy(boost::asio::buffer(bytes), buffers);
        const auto n = bytes.size();
        // FIN and opcode 8: Beast closes (it answers the peer's close, or fails the connection).
        // Nothing may follow. Where we closed first the outbox is sealed already and this second
        // close frame goes nowhere.
        const bool is_close = bytes.starts_with('\x88');
        const auto owner = std::make_shared<const std::string>(std::move(bytes));
        link_.out.push(piece{owner, *owner});
        if (is_close) link_.out.seal();
        return n;
    }

    template <typename Handler>
    static void complete_soon_on(
        const executor_type& executor, Handler&& handler, error_code ec, std::size_t n
    ) {
        boost::asio::post(
            executor, boost::beast::bind_front_handler(std::forward<Handler>(handler), ec, n)
        );
    }

    template <typename Handler>
    void complete_soon(Handler&& handler, error_code ec, std::size_t n) {
        complete_soon_on(get_executor(), std::forward<Handler>(handler), ec, n);
    }

    wire& link_;
    std::string already_read_;
    wakeup can_write_;
    bool is_waiting_ = false; // A write of Beast's, for room in the outbox.
};

// Beast's hooks. websocket_connection::finish() ends the connection itself, when all has been sent.

inline void
teardown(boost::beast::role_type, outbox_stream&, boost::system::error_code& ec) noexcept {
    ec = {};
}

template <typename Handler>
void async_teardown(boost::beast::role_type, outbox_stream& stream, Handler&& handler) {
    boost::asio::post(
        stream.get_executor(),
        boost::beast::bind_front_handler(
            std::forward<Handler>(handler), boost::system::error_code{}
        )
    );
}

inline void beast_close_socket(outbox_stream& stream) noexcept {
    stream.abort();
}

} // namespace streamld::net::detail
