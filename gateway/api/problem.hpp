#pragma once
// An error as the client sees it (RFC 9457), and the only place where an error becomes a status.
// Texts to clients never contain SQL, paths of this machine or driver messages.

#include "net/response.hpp"
#include "store/errors.hpp"

#include <cstdint>
#include <exception>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace streamld::api {

/// One row of PROTOCOL.md section 3: what `GET /problems/<slug>` explains.
struct problem_kind {
    std::string_view slug;
    int status;
    std::string_view title;
    std::string_view explanation;
};

[[nodiscard]] std::span<const problem_kind> problem_kinds() noexcept;
/// Null for a slug that is none of ours.
[[nodiscard]] const problem_kind* find_problem_kind(std::string_view slug) noexcept;

/// Thrown by handlers and parsers; caught once per request (session) or per message
/// (websocket_session).
class problem : public std::exception {
public:
    /// `slug` is one of PROTOCOL.md section 3's list (its status and title come with it); `detail`
    /// says what to do.
    problem(std::string_view slug, std::string detail);
    /// Another status than the slug's usual one (422 for invalid-cursor on a consumer).
    problem(std::string_view slug, int status, std::string detail);
    /// What the store threw, translated.
    explicit problem(const store::error& fault);

    [[nodiscard]] const char* what() const noexcept override { return detail_.c_str(); }

    [[nodiscard]] std::string_view slug() const noexcept { return slug_; }

    [[nodiscard]] int status() const noexcept { return status_; }

    [[nodiscard]] const std::string& detail() const noexcept { return detail_; }

    problem& with_head(std::int64_t head);    // 412: `head` in the body and in ETag.
    problem& with_allow(std::string methods); // 405
    [[nodiscard]] net::response
    to_response() const; // problem+json, no-store, Retry-After with 429 and 503, ...
    /// `{"@type":"Error","type":...,"detail":...,"ref"?}`
    [[nodiscard]] std::string to_message(std::string_view ref_json) const;

private:
    std::string slug_;
    int status_;
    std::string detail_; // Valid UTF-8, whatever the client sent.
    std::optional<std::int64_t> head_;
    std::string allow_;
};

/// Something the client sent, shortened, in back quotes, for a detail.
[[nodiscard]] std::string quoted(std::string_view text);

} // namespace streamld::api
