#include "store/sqlite/transaction.hpp"

#include "store/validation.hpp"

namespace streamld::store::sqlite {

namespace {

using boost::asio::awaitable;

class session_handle final : public tx_handle {
public:
    explicit session_handle(std::shared_ptr<session> own) : own_(std::move(own)) {}

    session_handle(const session_handle&) = delete;
    session_handle& operator=(const session_handle&) = delete;

    // Reached without an end where the caller's coroutine is destroyed as it waits.
    ~session_handle() override { own_->abandon(); }

    awaitable<offset_t> publish_tx(std::string stream, std::string payload) override {
        std::optional<std::string> no_key;
        const offset_t offset =
            co_await publish_with_key_tx(std::move(stream), std::move(no_key), std::move(payload));
        co_return offset;
    }

    awaitable<offset_t> publish_with_key_tx(
        std::string stream, std::optional<std::string> key, std::string payload
    ) override {
        checked_append publish;
        publish.request.stream = std::move(stream);
        publish.request.events.emplace_back(std::move(payload), std::move(key));
        require_valid(publish.request);
        auto step = [own = own_.get(), publish = std::move(publish)](ledger& books) mutable {
            return books.append(own->keep(std::move(publish)));
        };
        const append_outcome outcome = co_await own_->run(std::move(step));
        co_return outcome.first;
    }

    awaitable<save_outcome>
    save_offset_tx(std::string stream, std::string consumer, offset_t offset) override {
        require_stream_name(stream);
        require_consumer_name(consumer);
        require_offset(offset);
        auto step = [stream = std::move(stream),
                     consumer = std::move(consumer),
                     offset](ledger& books) { return books.save_offset(stream, consumer, offset); };
        const save_outcome outcome = co_await own_->run(std::move(step));
        co_return outcome;
    }

    awaitable<std::vector<sql_row>>
    execute(std::string sql, std::vector<sql_value> parameters) override {
        auto step = [sql = std::move(sql), parameters = std::move(parameters)](ledger& books) {
            return books.execute(sql, parameters);
        };
        auto rows = co_await own_->run(std::move(step));
        co_return rows;
    }

private:
    std::shared_ptr<session> own_;
};

} // namespace

awaitable<void> run_transaction(
    writer& books, std::function<awaitable<void>(tx_handle&)> work, deadline_t deadline
) {
    auto own = std::make_shared<session>(deadline);
    co_await books.enter(own);
    session_handle handle(own);
    std::exception_ptr fault;
    try {
        co_await work(handle);
    } catch (...) {
        fault = std::current_exception();
    }
    if (!fault) {
        co_await own->finish(session::ending::commit);
        co_return;
    }
    // The work's own exception is the one to tell, also where the roll-back came from the deadline.
    try {
        co_await own->finish(session::ending::roll_back);
    } catch (const error&) {
        std::rethrow_exception(fault);
    }
    std::rethrow_exception(fault);
}

} // namespace streamld::store::sqlite
