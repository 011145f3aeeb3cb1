#include "store/postgres/group_commit.hpp"

#include "store/postgres/queries.hpp"

#include <algorithm>
#include <array>

namespace streamld::store::postgres {

namespace {

using clock = std::chrono::steady_clock;

// How long a group may take on the server, whatever its members' patience.
constexpr std::chrono::seconds group_least{1};
constexpr std::chrono::seconds group_most{10};

deadline_t limit_of(const append_list& members) {
    const auto now = clock::now();
    deadline_t latest = now + group_least;
    for (const auto& member : members)
        latest = std::max(latest, member->deadline);
    return std::min(latest, deadline_t(now + group_most));
}

/// A fault that one member may have brought in by itself (data, constraint or size).
bool may_be_of_one(const postgres_fault& fault) {
    constexpr std::array classes{"22", "23", "54"};
    return std::any_of(classes.begin(), classes.end(), [&](const char* prefix) {
        return fault.sqlstate().starts_with(prefix);
    });
}

} // namespace

void refuse_late(append_list& members, deadline_t now) {
    append_list late;
    for (auto& member : members)
        if (member->deadline <= now) late.push_back(std::move(member));
    std::erase(members, nullptr);
    refuse(
        late,
        std::make_exception_ptr(
            error(errc::busy, "the deadline passed before the write's turn came")
        )
    );
}

// ---------------------------------------------------------------- health

void write_health::good() noexcept {
    at_ = clock::now();
    fault_ = nullptr;
    trouble_.clear();
}

void write_health::bad(const postgres_fault& fault) noexcept {
    at_ = clock::now();
    fault_ = std::make_exception_ptr(error(fault.which(), fault.detail()));
    trouble_.raise(fault, fault.detail() + ": " + fault.words());
}

write_health::word write_health::latest(std::chrono::milliseconds memory) const {
    word latest;
    latest.is_known = clock::now() - at_ < memory;
    if (latest.is_known) latest.fault = fault_;
    return latest;
}

// ---------------------------------------------------------------- a group

boost::asio::awaitable<append_list>
group_commit::run(connection& db, append_list members, std::chrono::milliseconds wait) {
    std::vector<const checked_append*> group;
    for (const auto& member : members)
        group.push_back(&member->publish);
    std::vector<query> pipeline;
    pipeline.emplace_back(queries::begin);
    pipeline.push_back(append_query(group, wait));
    pipeline.emplace_back(queries::commit);
    std::optional<postgres_fault> fault;
    std::vector<result> results;
    try {
        results = co_await db.exchange(std::move(pipeline), limit_of(members));
    } catch (const postgres_fault& caught) {
        fault = caught;
    }
    if (!fault) {
        const std::vector<append_answer> answers = answers_of(results.at(1));
        co_return settle(std::move(members), answers);
    }
    // A lock that was not given in time: all of them wait on.
    if (fault->which() == errc::busy) co_return members;
    if (members.size() > 1 && may_be_of_one(*fault)) {
        append_list held = co_await run_singly(db, std::move(members), wait);
        co_return held;
    }
    fail(members, *fault);
    co_return members;
}

// So that whoever brought the fault in fails alone.
boost::asio::awaitable<append_list>
group_commit::run_singly(connection& db, append_list members, std::chrono::milliseconds wait) {
    append_list held;
    for (auto& member : members) {
        append_list alone;
        alone.push_back(std::move(member));
        append_list left = co_await run(db, std::move(alone), wait);
        std::move(left.begin(), left.end(), std::back_inserter(held));
    }
    co_return held;
}

append_list group_commit::settle(append_list members, const std::vector<append_answer>& answers) {
    health_.good();
    append_list held;
    std::vector<store_observer::committed_append> reports;
    for (std::size_t i = 0; i < members.size(); ++i)
        if (answers.at(i).verdict == append_verdict::stored)
            reports.push_back(report_of(members[i]->publish, answers[i]));
    if (!reports.empty()) actions_.committed(reports);
    for (std::size_t i = 0; i < members.size(); ++i) {
        if (answers[i].verdict == append_verdict::held) {
            held.push_back(std::move(members[i]));
        } else if (const auto refusal = refusal_of(answers[i])) {
            members[i]->done.fail(refusal);
        } else {
            members[i]->done.succeed(answers[i].outcome);
        }
    }
    return held;
}

void group_commit::fail(append_list& members, const postgres_fault& fault) {
    health_.bad(fault);
    if (fault.sqlstate().empty()) actions_.outcome_unknown();
    if (fault.ends_connection()) actions_.server_changed();
    refuse(members, std::make_exception_ptr(error(fault.which(), fault.detail())));
}

} // namespace streamld::store::postgres
