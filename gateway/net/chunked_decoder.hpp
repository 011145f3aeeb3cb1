#pragma once
// Decodes a chunked request body (RFC 9112, 7.1) cut anywhere into pieces. Extensions and trailers
// are read over, bounded. Our own since Beast 1.81 asserts where "0" CR LF CR stands alone at the
// end of its buffer, and keeps whole lines. Pure.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace streamld::net {

class chunked_decoder {
public:
    enum class progress { need_more, done, malformed, too_large };

    /// Takes from `input` what belongs to the body and appends the data to `body`, which stays
    /// within `body_bytes_max`.
    progress feed(std::string_view& input, std::string& body, std::size_t body_bytes_max);

private:
    enum class expecting {
        size,
        size_end, // Behind the digits: extension or line end.
        size_space,
        extension,
        size_lf,
        data,
        data_cr,
        data_lf,
        trailer_start,
        trailer,
        trailer_lf,
        last_lf,
    };

    progress take_data(std::string_view& input, std::string& body, std::size_t body_bytes_max);
    bool take_framing(char c);
    bool take_size_digit(char c);

    expecting next_ = expecting::size;
    bool is_done_ = false;
    int digits_ = 0;
    std::uint64_t remaining_ = 0;
    std::size_t ignored_bytes_ = 0; // Extensions and trailers of the whole body.
};

} // namespace streamld::net
