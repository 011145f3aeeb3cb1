#pragma once
// One message from a WebSocket client, read member by member. Throws problem where it breaks
// PROTOCOL.md section 6; the ref is read first, so that every answer can carry it. Views point into
// the message's text.

#include "api/json_members.hpp"
#include "api/subscribe_request.hpp"
#include "store/engine.hpp"

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace streamld::api {

/// Who resolves stream URLs: the Host of the handshake, and --public-url.
struct own_names {
    std::string host;
    std::string public_url;
};

class websocket_message {
public:
    /// `text` must outlive the message. Throws problem (invalid-request) unless it is a JSON object
    /// with sound members.
    explicit websocket_message(std::string_view text);

    [[nodiscard]] const std::string& type() const noexcept { return type_; }

    /// The ref as JSON text, or empty.
    [[nodiscard]] std::string_view ref_json() const noexcept { return ref_json_; }

    [[nodiscard]] subscribe_request to_subscribe_request(const own_names& names) const;
    /// `payload_bytes_max`: payload-too-large beyond.
    [[nodiscard]] store::append_request
    to_append_request(const own_names& names, std::size_t payload_bytes_max) const;
    [[nodiscard]] std::string stream(const own_names& names) const;
    /// A name or key; absent is an error.
    [[nodiscard]] std::string text(std::string_view name) const;
    [[nodiscard]] store::offset_t offset(std::string_view name) const;

    /// Throws problem (invalid-parameter) for a member that is none of these, `@type` or `ref` (a
    /// typo must not mean "from now"); other names that begin with `@` are JSON-LD's own and pass.
    void allow_only(std::initializer_list<std::string_view> names) const;

private:
    [[nodiscard]] std::optional<std::string_view> find(std::string_view name) const noexcept;
    [[nodiscard]] std::optional<std::string> optional_text(std::string_view name) const;

    std::vector<json_member> members_;
    std::string type_;
    std::string_view ref_json_;
};

} // namespace streamld::api
