#pragma once
// An answer as the handlers build it. Date, Content-Length, Connection and the status line are
// added when it is written.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace streamld::net {

struct response {
    int status = 200;
    std::vector<std::pair<std::string, std::string>> headers;
    std::string body;
    bool must_close = false; // Say `Connection: close` and close behind it.

    response() = default;

    explicit response(int code) : status(code) {}

    void set(std::string name, std::string value) {
        headers.emplace_back(std::move(name), std::move(value));
    }
};

/// "Created" for 201; "" for an unknown code.
[[nodiscard]] std::string_view reason_phrase(int status) noexcept;

} // namespace streamld::net
