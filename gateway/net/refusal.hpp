#pragma once
// Why a request was refused before any handler saw it.

#include <string>

namespace streamld::net {

/// For the answer: the slug is one of PROTOCOL.md section 3, the detail says what to do.
struct refusal {
    int status = 400;
    std::string slug;
    std::string detail;
};

} // namespace streamld::net
