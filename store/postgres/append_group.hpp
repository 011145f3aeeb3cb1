#pragma once
// A group of publishes as one call of streamld.gateway_append, and its answer. Pure; any thread.

#include "store/engine.hpp"
#include "store/postgres/query.hpp"
#include "store/postgres/result.hpp"

#include <chrono>
#include <exception>
#include <string>
#include <vector>

namespace streamld::store::postgres {

/// A publish with what can be worked out before its turn.
struct checked_append {
    append_request request;
    std::string fingerprint; // Empty without an idempotency key.
};

enum class append_verdict { stored, replayed, conflict, precondition, held, full };

struct append_answer {
    append_verdict verdict = append_verdict::stored;
    append_outcome outcome;
    offset_t head = 0;
    std::string epoch;
};

/// `wait`: how long to wait for the streams' locks. Zero: not at all; held streams are told.
[[nodiscard]] query
append_query(const std::vector<const checked_append*>& group, std::chrono::milliseconds wait);

/// One for each publish, in their order.
[[nodiscard]] std::vector<append_answer> answers_of(const result& rows);

/// Why a publish was refused; null for those that have an outcome and for held ones.
[[nodiscard]] std::exception_ptr refusal_of(const append_answer& answer);

[[nodiscard]] store_observer::committed_append
report_of(const checked_append& publish, const append_answer& answer);

/// Events and bytes of it, for limits.
[[nodiscard]] std::size_t bytes_of(const append_request& request);

} // namespace streamld::store::postgres
