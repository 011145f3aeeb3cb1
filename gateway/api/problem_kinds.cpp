// PROTOCOL.md section 3 as a table.

#include "api/problem.hpp"

#include <algorithm>
#include <iterator>

namespace streamld::api {

namespace {

constexpr problem_kind kinds[] = {
    {"invalid-name",
     400,
     "Invalid name",
     "A stream or consumer name is 1 to 512 bytes of UTF-8 without control characters, and not `.` "
     "or `..`. In a path it "
     "is one percent-encoded segment (`/` is `%2F`). A key follows the same rules, and an empty "
     "one is not `no key`."},
    {"invalid-cursor",
     400,
     "Invalid cursor",
     "A cursor, sequence or offset is decimal digits without leading zeros, 0 to 9007199254740991; "
     "in JSON an integer. "
     "With status 422 the number is beyond the stream's head."},
    {"invalid-parameter",
     400,
     "Invalid parameter",
     "A query parameter or header is malformed, unknown to this path, given twice, missing, or "
     "contradicts another. "
     "Unknown names are refused so that a typing error is never taken for the default."},
    {"invalid-payload",
     400,
     "Invalid payload",
     "The body is not what its content type promises: one JSON value in UTF-8 without a byte-order "
     "mark, nested at most "
     "64 deep; for application/ld+json an object. An empty body is no event."},
    {"invalid-request",
     400,
     "Invalid request",
     "The request is malformed as HTTP, or a WebSocket message is no JSON object of a known "
     "@type."},
    {"payload-too-large",
     413,
     "Payload too large",
     "An event, a batch or a request body is over this server's limit (--max-payload, --max-batch, "
     "--max-body). Publish "
     "smaller pieces."},
    {"unknown-path",
     404,
     "Unknown path",
     "There is nothing at this path. `GET /` lists what there is."},
    {"unknown-stream",
     404,
     "Unknown stream",
     "No event was ever published to this stream and nobody created it. Subscribing to it would "
     "wait."},
    {"unknown-event",
     404,
     "Unknown event",
     "The stream has not given this sequence number to an event yet."},
    {"event-gone",
     410,
     "Event gone",
     "The event was trimmed away. The stream's `oldestAvailable` says what is left."},
    {"precondition-failed",
     412,
     "Precondition failed",
     "The stream's head is not the one that If-Match names (or not 0 with If-None-Match: *). "
     "`head` is the real one: read "
     "up to there and decide anew."},
    {"idempotency-conflict",
     422,
     "Idempotency conflict",
     "This Idempotency-Key was used on this stream for a publish with another body, key, snapshot "
     "mark or content type."},
    {"consumers-behind",
     409,
     "Consumers behind",
     "A trim with guard=consumers would remove events that a saved offset has not reached."},
    {"unauthorized",
     401,
     "Unauthorized",
     "A valid token is needed: `Authorization: Bearer <token>`."},
    {"forbidden",
     403,
     "Forbidden",
     "The token does not grant this, or the request comes from an origin (--allow-origin) or for a "
     "host (--public-url) "
     "that this server was not told to serve."},
    {"too-many-requests",
     429,
     "Too many requests",
     "Come back after the seconds that Retry-After names."},
    {"store-unavailable",
     503,
     "Store unavailable",
     "The store cannot be read or written at this moment. Nothing was stored by this request; try "
     "again after the seconds "
     "that Retry-After names, publishes best with an Idempotency-Key."},
    {"shutting-down",
     503,
     "Shutting down",
     "The server is about to stop and takes no new work. Try again after the seconds that "
     "Retry-After names."},
    {"not-acceptable",
     406,
     "Not acceptable",
     "Nothing this path can answer with is in the request's Accept header."},
    {"method-not-allowed",
     405,
     "Method not allowed",
     "This path knows other methods; Allow lists them."},
    {"unsupported-media-type",
     415,
     "Unsupported media type",
     "The Content-Type is no media type, has a charset other than UTF-8 or an unknown profile, or "
     "the body is compressed. "
     "With curl, use --json instead of -d for JSON."},
    {"upgrade-required",
     426,
     "Upgrade required",
     "This path speaks WebSocket; a plain request cannot be answered here."},
    {"internal",
     500,
     "Internal error",
     "Something went wrong in the server. It was logged; the request may be repeated."},
};

} // namespace

std::span<const problem_kind> problem_kinds() noexcept {
    return kinds;
}

const problem_kind* find_problem_kind(std::string_view slug) noexcept {
    const auto* const found =
        std::find_if(std::begin(kinds), std::end(kinds), [slug](const problem_kind& kind) {
            return kind.slug == slug;
        });
    return found == std::end(kinds) ? nullptr : found;
}

} // namespace streamld::api
