#pragma once
// Who may do what (PROTOCOL.md section 9). Today every server is open: bound to loopback and
// guarded by Host and Origin (auth/origin.hpp), or opened on purpose. Tokens come in here, and
// nowhere else.

#include <string_view>

namespace streamld::auth {

/// What a row of the routes asks for. `public_`: never a token.
enum class right { publish, subscribe, admin, public_ };

enum class decision {
    allowed,
    unauthorized, // No valid token: 401.
    forbidden,    // The token does not grant it: 403.
};

/// `stream` is empty where the request names none. An open server ignores tokens.
[[nodiscard]] constexpr decision decide(right, std::string_view /*stream*/) noexcept {
    return decision::allowed;
}

} // namespace streamld::auth
