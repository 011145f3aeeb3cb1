#include "api/problem.hpp"

#include "base/json_string.hpp"
#include "store/json_text.hpp"

#include <boost/assert.hpp>

#include <algorithm>
#include <utility>

namespace streamld::api {

namespace {

constexpr std::size_t quoted_bytes_max = 100;

struct translation {
    std::string_view slug;
    std::string_view detail; // Where the store has no words of its own.
};

translation translate(store::errc code) noexcept {
    using store::errc;
    switch (code) {
    case errc::invalid_name:
        return {"invalid-name", "a name is 1 to 512 bytes of UTF-8 without control characters"};
    case errc::invalid_cursor:
        return {"invalid-cursor", "the number is out of range for this stream"};
    case errc::invalid_payload:
        return {"invalid-payload", "the payload is not what its content type promises"};
    case errc::too_large:
        return {"payload-too-large", "the payload is larger than this server takes"};
    case errc::codec:
        return {"invalid-payload", "the payload cannot be decoded"};
    case errc::unknown_stream:
        return {"unknown-stream", "no such stream; publish to it or PUT it first"};
    case errc::precondition:
        return {"precondition-failed", "the head is not the expected one; read on and try again"};
    case errc::idempotency_conflict:
        return {
            "idempotency-conflict",
            "this Idempotency-Key was used for another publish; take a new one"};
    case errc::consumers_behind:
        return {
            "consumers-behind",
            "a consumer's saved offset is below the new horizon; wait for it or forget it"};
    case errc::busy:
        return {"store-unavailable", "the server is busy; nothing was stored, try again"};
    case errc::unavailable:
        return {"store-unavailable", "the store cannot be reached or written now; try again"};
    case errc::full:
        return {
            "store-unavailable",
            "the store has no space left; nothing was stored, try again later"};
    case errc::corrupt:
    case errc::foreign:
        return {"store-unavailable", "the store cannot be used; its operator has to look at it"};
    case errc::closed:
        return {"shutting-down", "the server is shutting down; try again soon"};
    case errc::statement:
        break;
    }
    return {"internal", "something went wrong here; it was logged"};
}

int usual_status(std::string_view slug) noexcept {
    const auto* kind = find_problem_kind(slug);
    BOOST_ASSERT(kind != nullptr);
    return kind->status;
}

/// Replaces what is no UTF-8, byte by byte; details may quote what a client sent.
std::string as_utf8(std::string text) {
    if (store::is_utf8(text)) return text;
    std::replace_if(
        text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) >= 0x80; }, '?'
    );
    return text;
}

/// The store knows best what is wrong with a value; what to do about a state of affairs is said
/// here.
std::string detail_of(const store::error& fault) {
    using store::errc;
    const auto code = fault.which();
    const bool is_about_a_value = code == errc::invalid_name || code == errc::invalid_cursor ||
                                  code == errc::invalid_payload || code == errc::too_large;
    return is_about_a_value && !fault.detail().empty() ? fault.detail()
                                                       : std::string(translate(code).detail);
}

} // namespace

problem::problem(std::string_view slug, std::string detail)
    : problem(slug, usual_status(slug), std::move(detail)) {}

problem::problem(std::string_view slug, int status, std::string detail)
    : slug_(slug), status_(status), detail_(as_utf8(std::move(detail))) {}

problem::problem(const store::error& fault)
    : problem(translate(fault.which()).slug, detail_of(fault)) {
    // A number beyond the head is well formed: 422.
    if (fault.which() == store::errc::invalid_cursor && fault.head()) status_ = 422;
    if (fault.which() == store::errc::precondition) head_ = fault.head();
}

problem& problem::with_head(std::int64_t head) {
    head_ = head;
    return *this;
}

problem& problem::with_allow(std::string methods) {
    allow_ = std::move(methods);
    return *this;
}

net::response problem::to_response() const {
    const auto* kind = find_problem_kind(slug_);
    BOOST_ASSERT(kind != nullptr);
    net::response answer(status_);
    json_object body(answer.body);
    body.text("type", "/problems/" + slug_)
        .text("title", kind->title)
        .number("status", status_)
        .text("detail", detail_);
    if (head_) body.number("head", *head_);
    body.close();

    answer.set("Content-Type", "application/problem+json");
    answer.set("Cache-Control", "no-store");
    if (head_) answer.set("ETag", '"' + std::to_string(*head_) + '"');
    if (!allow_.empty()) answer.set("Allow", allow_);
    if (status_ == 401) answer.set("WWW-Authenticate", "Bearer");
    if (status_ == 429 || status_ == 503) answer.set("Retry-After", "2");
    return answer;
}

std::string problem::to_message(std::string_view ref_json) const {
    std::string message;
    json_object body(message);
    body.text("@type", "Error").text("type", slug_).text("detail", detail_);
    if (!ref_json.empty()) body.raw("ref", ref_json);
    body.close();
    return message;
}

std::string quoted(std::string_view text) {
    const auto shown = text.substr(0, quoted_bytes_max);
    return '`' + std::string(shown) + (shown.size() < text.size() ? "...`" : "`");
}

} // namespace streamld::api
