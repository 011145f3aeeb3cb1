#pragma once
// libpq in its pipeline mode: questions go out together, answers come back in order, and whatever
// ends the connection breaks it for good. The inner part of `connection`, whose rules hold here
// too.

#include "store/postgres/connection.hpp"
#include "store/postgres/connector.hpp"
#include "store/postgres/socket_watch.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <deque>
#include <optional>
#include <string>
#include <vector>

namespace streamld::store::postgres {

/// What came back for one pipeline.
struct answers {
    std::vector<result> results;
    std::optional<postgres_fault> fault; // The first.
    bool is_complete = false;            // The synchronisation point was reached.
};

class pipeline {
public:
    pipeline(boost::asio::any_io_executor loop, raw_connection made);
    pipeline(const pipeline&) = delete;
    pipeline& operator=(const pipeline&) = delete;

    /// Into libpq's buffer, with a synchronisation point behind. Throws if the connection is
    /// broken.
    void send(const std::vector<query>& queries);

    /// Writes, and reads until the synchronisation point. Throws if the connection ends before; a
    /// statement's fault is in the answers.
    boost::asio::awaitable<void> collect(answers& to, deadline_t deadline);

    /// Ends a failed transaction. What fails here is not told: it has broken the connection.
    boost::asio::awaitable<void> recover(std::string statement, deadline_t deadline);

    boost::asio::awaitable<std::optional<notification>> next_notification(deadline_t until);

    /// Closes the socket now, so that the server notices; `why` is what everybody meets from here.
    void break_off(postgres_fault why) noexcept;

    /// For the log, in our own words.
    [[nodiscard]] static postgres_fault lost(const std::string& words);

    void require_unbroken() const;

    [[nodiscard]] bool is_broken() const noexcept { return raw_ == nullptr; }

    [[nodiscard]] bool looks_alive() noexcept;
    [[nodiscard]] bool is_in_transaction() const noexcept; // Or broken.
    [[nodiscard]] bool is_in_failed_transaction() const noexcept;
    [[nodiscard]] std::string server_encoding() const; // Empty: not told.

    [[nodiscard]] int backend_pid() const noexcept { return backend_pid_; }

    [[nodiscard]] int server_version() const noexcept { return server_version_; }

private:
    static void on_notice(void* self, const pg_result* notice);
    void send(const query& next);
    [[nodiscard]] bool read();
    void take_answers(answers& to);
    void take(pg_result* raw, answers& to);
    void take_notifications();
    [[nodiscard]] postgres_fault end_of_connection() const;

    int backend_pid_;
    int server_version_;
    raw_connection raw_; // Null once it is broken.
    socket_watch watch_; // Behind it: lets go of the socket before that is closed.
    std::deque<notification> notifications_;
    std::optional<postgres_fault> farewell_; // The server said that it closes the connection.
    std::optional<postgres_fault> broken_by_;
};

} // namespace streamld::store::postgres
