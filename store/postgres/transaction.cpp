#include "store/postgres/transaction.hpp"

#include "store/postgres/callers_statement.hpp"
#include "store/postgres/queries.hpp"
#include "store/postgres/writes.hpp"
#include "store/validation.hpp"

#include <optional>
#include <utility>

namespace streamld::store::postgres {

namespace {

using boost::asio::awaitable;
using clock = std::chrono::steady_clock;

constexpr const char* back_one_step = "ROLLBACK TO SAVEPOINT streamld_step";

error past_deadline() {
    return error(errc::busy, "the transaction's deadline passed; it was rolled back");
}

} // namespace

/// The loop's side of one transaction; shared by the caller's handle and what runs on the loop.
class open_transaction : public std::enable_shared_from_this<open_transaction> {
public:
    open_transaction(transactions& owner, deadline_t deadline)
        : owner_(owner), deadline_(deadline), over_(owner.loop_.executor()) {}

    open_transaction(const open_transaction&) = delete;
    open_transaction& operator=(const open_transaction&) = delete;

    [[nodiscard]] engine_loop& loop() const noexcept { return owner_.loop_; }

    // ---- On the loop.

    awaitable<nothing> begin() {
        if (deadline_ <= clock::now()) throw past_deadline();
        try {
            db_ = co_await owner_.pool_.acquire(deadline_);
        } catch (const postgres_fault& fault) {
            if (clock::now() >= deadline_) throw past_deadline();
            throw error(fault.which(), fault.detail());
        }
        owner_.open_.insert(this);
        loop().spawn(keep_deadline(shared_from_this()));
        std::vector<query> opening;
        opening.emplace_back(queries::begin);
        co_await step(std::move(opening), "ROLLBACK");
        co_return nothing{};
    }

    awaitable<append_outcome> append(checked_append publish) {
        checked_append& kept =
            *kept_.emplace_back(std::make_unique<checked_append>(std::move(publish)));
        std::vector<const checked_append*> alone{&kept};
        std::vector<query> call;
        const auto left =
            std::chrono::duration_cast<std::chrono::milliseconds>(deadline_ - clock::now());
        call.push_back(append_query(alone, std::max(left, std::chrono::milliseconds(1))));
        const std::vector<result> rows = co_await step(std::move(call), "ROLLBACK");
        const append_answer answer = answers_of(rows.at(0)).at(0);
        if (const auto refusal = refusal_of(answer)) std::rethrow_exception(refusal);
        answers_.push_back(answer);
        stored_.push_back(&kept);
        co_return answer.outcome;
    }

    awaitable<save_outcome> save_offset(std::string stream, std::string consumer, offset_t offset) {
        std::vector<query> call;
        call.push_back(save_offset_query(stream, consumer, offset));
        const std::vector<result> rows = co_await step(std::move(call), "ROLLBACK");
        co_return save_outcome_of(rows.at(0));
    }

    // A statement that fails takes back only itself, as on SQLite.
    awaitable<std::vector<tx_handle::sql_row>>
    execute(std::string sql, std::vector<tx_handle::sql_value> parameters) {
        std::vector<query> calls;
        calls.emplace_back("SAVEPOINT streamld_step");
        calls.push_back(callers_query(sql, parameters));
        calls.emplace_back("RELEASE SAVEPOINT streamld_step");
        std::optional<error> fault;
        std::vector<result> rows;
        try {
            rows = co_await step(std::move(calls), back_one_step);
        } catch (const postgres_fault& caught) {
            fault = callers_fault(caught);
        }
        if (fault) throw *fault;
        co_return callers_rows(rows.at(1));
    }

    awaitable<nothing> commit() {
        std::vector<query> ending;
        ending.emplace_back(queries::commit);
        co_await step(std::move(ending), "ROLLBACK");
        std::vector<store_observer::committed_append> reports;
        for (std::size_t i = 0; i < stored_.size(); ++i)
            reports.push_back(report_of(*stored_[i], answers_[i]));
        if (!reports.empty()) owner_.actions_.committed(reports);
        end(nullptr);
        co_return nothing{};
    }

    awaitable<nothing> roll_back() {
        std::vector<query> ending;
        ending.emplace_back("ROLLBACK");
        co_await step(std::move(ending), "ROLLBACK");
        end(nullptr);
        co_return nothing{};
    }

    /// Ends it where it stands: the connection goes, and the server rolls back.
    void drop(std::exception_ptr why) noexcept {
        if (is_over_) return;
        end(std::move(why));
    }

private:
    awaitable<std::vector<result>> step(std::vector<query> queries, const char* recovery) {
        if (is_over_)
            std::rethrow_exception(
                fault_ ? fault_
                       : std::make_exception_ptr(error(errc::busy, "the transaction is over"))
            );
        is_stepping_ = true;
        std::optional<postgres_fault> fault;
        std::vector<result> results;
        try {
            results = co_await db_->exchange(std::move(queries), deadline_, recovery);
        } catch (const postgres_fault& caught) {
            fault = caught;
        }
        is_stepping_ = false;
        if (!fault) co_return results;
        if (fault->sqlstate().empty()) owner_.actions_.outcome_unknown();
        if (fault->ends_connection()) owner_.actions_.server_changed();
        const bool is_late = clock::now() >= deadline_;
        if (db_->is_broken() || !db_->is_in_transaction())
            end(std::make_exception_ptr(
                is_late ? past_deadline() : error(fault->which(), fault->detail())
            ));
        if (is_late) throw past_deadline();
        throw *fault;
    }

    // A step under way ends by its own deadline, which is the same.
    static awaitable<void> keep_deadline(std::shared_ptr<open_transaction> own) {
        while (!own->is_over_ && clock::now() < own->deadline_)
            co_await own->over_.wait(own->deadline_);
        if (!own->is_over_ && !own->is_stepping_)
            own->drop(std::make_exception_ptr(past_deadline()));
    }

    void end(std::exception_ptr why) noexcept {
        is_over_ = true;
        fault_ = std::move(why);
        db_.give_back();
        owner_.open_.erase(this);
        over_.notify();
    }

    transactions& owner_;
    deadline_t deadline_;
    lease db_;
    signal over_;
    std::exception_ptr fault_;
    bool is_over_ = false;
    bool is_stepping_ = false;
    std::vector<std::unique_ptr<checked_append>> kept_;
    std::vector<const checked_append*> stored_;
    std::vector<append_answer> answers_;
};

namespace {

class transaction_handle final : public tx_handle {
public:
    explicit transaction_handle(std::shared_ptr<open_transaction> own) : own_(std::move(own)) {}

    transaction_handle(const transaction_handle&) = delete;
    transaction_handle& operator=(const transaction_handle&) = delete;

    // Reached without an end where the caller's coroutine is destroyed as it waits.
    ~transaction_handle() override {
        own_->loop().post([own = own_] { own->drop(nullptr); });
    }

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
        auto step = [own = own_, publish = std::move(publish)]() mutable {
            return own->append(std::move(publish));
        };
        const auto outcome = co_await own_->loop().run<append_outcome>(std::move(step));
        co_return outcome.first;
    }

    awaitable<save_outcome>
    save_offset_tx(std::string stream, std::string consumer, offset_t offset) override {
        require_stream_name(stream);
        require_consumer_name(consumer);
        require_offset(offset);
        auto step =
            [own = own_, stream = std::move(stream), consumer = std::move(consumer), offset](
            ) mutable { return own->save_offset(std::move(stream), std::move(consumer), offset); };
        const auto outcome = co_await own_->loop().run<save_outcome>(std::move(step));
        co_return outcome;
    }

    awaitable<std::vector<sql_row>>
    execute(std::string sql, std::vector<sql_value> parameters) override {
        auto step = [own = own_, sql = std::move(sql), parameters = std::move(parameters)](
                    ) mutable { return own->execute(std::move(sql), std::move(parameters)); };
        auto rows = co_await own_->loop().run<std::vector<sql_row>>(std::move(step));
        co_return rows;
    }

private:
    std::shared_ptr<open_transaction> own_;
};

} // namespace

awaitable<void>
transactions::run(std::function<awaitable<void>(tx_handle&)> work, deadline_t deadline) {
    auto own = std::make_shared<open_transaction>(*this, deadline);
    auto begin = [own] { return own->begin(); };
    co_await loop_.run<nothing>(std::move(begin));
    transaction_handle handle(own);
    std::exception_ptr fault;
    try {
        co_await work(handle);
    } catch (...) {
        fault = std::current_exception();
    }
    if (!fault) {
        auto commit = [own] { return own->commit(); };
        co_await loop_.run<nothing>(std::move(commit));
        co_return;
    }
    // The work's own exception is the one to tell, also where the roll-back came from the deadline.
    try {
        auto roll_back = [own] { return own->roll_back(); };
        co_await loop_.run<nothing>(std::move(roll_back));
    } catch (const error&) {
        std::rethrow_exception(fault);
    }
    std::rethrow_exception(fault);
}

void transactions::close() noexcept {
    const auto all = open_;
    for (open_transaction* one : all)
        one->drop(std::make_exception_ptr(error(errc::closed)));
}

} // namespace streamld::store::postgres
