#pragma once
// A real TCP connection over loopback whose client end is a plain non-blocking socket in the test's
// hands.

#include "support/gateway/shard_loop.hpp"

#include <boost/asio/ip/tcp.hpp>

#include <algorithm>
#include <cerrno>
#include <string>
#include <string_view>
#include <sys/socket.h>

namespace streamld::test {

class loopback {
public:
    /// Small buffers make a slow reader felt early.
    explicit loopback(shard_loop& on, int buffer_bytes = 0)
        : shard(on), server(on.loop), client_(on.loop) {
        using boost::asio::ip::tcp;
        tcp::acceptor acceptor{on.loop, tcp::endpoint{boost::asio::ip::address_v4::loopback(), 0}};
        if (buffer_bytes > 0) {
            acceptor.set_option(boost::asio::socket_base::send_buffer_size(buffer_bytes));
            client_.open(tcp::v4());
            client_.set_option(boost::asio::socket_base::receive_buffer_size(buffer_bytes));
        }
        client_.connect(acceptor.local_endpoint());
        acceptor.accept(server);
    }

    /// Sends as much as the socket takes and runs the loop until all is sent; false where the
    /// server reset.
    bool send(std::string_view bytes) {
        return shard.until([&] {
            read();
            const auto n = ::send(
                client_.native_handle(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL
            );
            if (n < 0) return errno != EAGAIN;
            bytes.remove_prefix(static_cast<std::size_t>(n));
            return bytes.empty();
        }) && bytes.empty();
    }

    bool send_byte_by_byte(std::string_view bytes) {
        for (const char& byte : bytes) {
            if (!send({&byte, 1})) return false;
            shard.settle();
        }
        return true;
    }

    /// Sends without reading until the server takes no more; `look` is called between.
    template <typename Look>
    void send_blindly(std::string_view bytes, Look look) {
        int refusals = 0;
        while (!bytes.empty() && refusals < 20) {
            const auto n = ::send(
                client_.native_handle(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL
            );
            if (n > 0) bytes.remove_prefix(static_cast<std::size_t>(n));
            refusals = n > 0 ? 0 : refusals + 1;
            shard.loop.restart();
            shard.loop.run_one_for(std::chrono::milliseconds{1});
            look();
        }
    }

    /// Takes in what has come, at most that much.
    void read(std::size_t bytes_max = std::size_t{1} << 24) {
        char buffer[16 * 1024];
        while (bytes_max > 0 && !has_ended) {
            const auto wanted = std::min(bytes_max, sizeof buffer);
            const auto n = ::recv(client_.native_handle(), buffer, wanted, MSG_DONTWAIT);
            if (n > 0) {
                received.append(buffer, static_cast<std::size_t>(n));
                bytes_max -= static_cast<std::size_t>(n);
            } else {
                if (n < 0 && errno == EAGAIN) return;
                has_ended = true;
                was_reset = n < 0;
            }
        }
    }

    bool until_received(std::string_view text) {
        return shard.until([&] {
            read();
            return received.find(text) != std::string::npos;
        });
    }

    bool until_ended() {
        return shard.until([&] {
            read();
            return has_ended;
        });
    }

    void shut_down_sending() { client_.shutdown(boost::asio::socket_base::shutdown_send); }

    void close() { client_.close(); }

    shard_loop& shard;
    boost::asio::ip::tcp::socket server;
    std::string received;
    bool has_ended = false;
    bool was_reset = false;

private:
    boost::asio::ip::tcp::socket client_;
};

} // namespace streamld::test
