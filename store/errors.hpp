#pragma once
// The closed list of what can go wrong in a store, one category, one exception type.
// A value is added here before a string is invented elsewhere.

#include <boost/system/error_code.hpp>
#include <boost/system/system_error.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace streamld::store {

enum class errc {
    invalid_name = 1, // A stream, consumer or key breaks the rules of names.
    invalid_cursor,   // An offset is out of range, or beyond the head where that is not allowed.
    invalid_payload,  // Not the JSON value its content type promises, empty, or a bad byte.
    too_large,        // A payload or batch is over the store's own limit.
    codec,            // payload_as<T>() could not decode.
    unknown_stream,   // The stream was never created.
    precondition,     // The stream's head is not the expected one; error::head() has it.
    idempotency_conflict, // The token was used for another publish.
    consumers_behind,     // A guarded trim would overtake a saved offset.
    busy,        // A queue is full or the deadline passed first; nothing was stored. Retry.
    unavailable, // The storage cannot be reached or written now. Retry.
    full,        // No space left; nothing was stored. Retry once there is space.
    corrupt,     // The storage is damaged.
    foreign,     // Not a streamld store, of a newer version, replaced, or on an unfit file system.
    closed,      // The store is closing or closed.
    statement,   // The caller's own SQL in a transaction failed; detail() has the database's words.
};

[[nodiscard]] const boost::system::error_category& store_category() noexcept;
[[nodiscard]] boost::system::error_code make_error_code(errc code) noexcept;

/// The store's only exception. `what()` is for logs; a client is never shown it as it stands.
class error : public boost::system::system_error {
public:
    explicit error(
        errc code, const std::string& detail = {}, std::optional<std::int64_t> head = {}
    );

    [[nodiscard]] errc which() const noexcept { return static_cast<errc>(code().value()); }

    /// What is wrong, in words that name no path, SQL or driver text.
    [[nodiscard]] const std::string& detail() const noexcept { return detail_; }

    /// The stream's head, with `precondition` and `invalid_cursor`.
    [[nodiscard]] std::optional<std::int64_t> head() const noexcept { return head_; }

private:
    std::string detail_;
    std::optional<std::int64_t> head_;
};

} // namespace streamld::store

template <>
struct boost::system::is_error_code_enum<streamld::store::errc> : std::true_type {};
