#pragma once
// The inside of http_connection: what was read, where it stands, and the wire. Seen by
// http_connection.cpp and, for the hand-over of the wire, by websocket_upgrade.

#include "net/http_connection.hpp"

#include <memory>
#include <string>

namespace streamld::net {

class http_connection::impl {
public:
    impl(boost::asio::ip::tcp::socket socket, const connection_context& context);
    ~impl();
    impl(const impl&) = delete;
    impl& operator=(const impl&) = delete;

    boost::asio::awaitable<head_state> read_head();
    boost::asio::awaitable<body_state> read_body(std::size_t bytes_max);
    boost::asio::awaitable<bool> respond(response answer);
    void begin_stream(response head, bool chunked);
    void push_body(piece part);
    boost::asio::awaitable<void> end_stream();
    void begin_drain();
    void serve_one_request();

    [[nodiscard]] bool takes_answer() const noexcept { return phase_ != phase::streaming; }

    std::unique_ptr<wire> link;
    request current;
    refusal refused;
    std::string body;
    std::string input; // Read, but not yet part of anything.
    bool is_chunked = false;

private:
    void forget_request();
    void free_buffers();
    void drop_leading_line_breaks();
    [[nodiscard]] bool is_hopeless() const noexcept;
    head_state refuse(int status, std::string detail);
    head_state take_head(std::size_t head_bytes);
    boost::asio::awaitable<body_state> read_sized_body(std::size_t bytes);
    boost::asio::awaitable<body_state> read_chunked_body(std::size_t bytes_max);
    boost::asio::awaitable<wire::received> receive_body(std::string& into, std::size_t bytes_max);
    void watch_peer();
    void discard_from_peer();

    [[nodiscard]] const connection_limits& limits() const noexcept { return link->context.limits; }

    enum class phase { between, in_head, in_request, streaming };
    phase phase_ = phase::between;
    bool is_waiting_for_head_ = false;
    bool is_draining_ = false;
    bool is_surplus_ = false;
    bool is_refused_ = false;
    bool has_read_body_ = false;
    bool is_head_request_ = false;
    bool is_finite_ = false; // The stream has an end of its own.
    std::string head_;
    std::string peer_address_;
    wire::clock::time_point body_end_{};
    std::size_t discarded_bytes_ = 0;
    // Shared with the handler that watches the peer of a stream, which may outlive this object.
    std::shared_ptr<impl*> watching_;
};

} // namespace streamld::net
