#include "base/websocket_frame.hpp"

#include <boost/test/unit_test.hpp>

#include <string>

namespace {

std::string header_of(std::size_t payload_bytes) {
    std::string out;
    streamld::append_text_frame_header(out, payload_bytes);
    return out;
}

using std::string_literals::operator""s;

} // namespace

BOOST_AUTO_TEST_SUITE(base_websocket_frame)

BOOST_AUTO_TEST_CASE(the_length_takes_the_shortest_of_three_forms) {
    BOOST_TEST(header_of(0) == "\x81\x00"s);
    BOOST_TEST(header_of(125) == "\x81\x7d"s);
    BOOST_TEST(header_of(126) == "\x81\x7e\x00\x7e"s);
    BOOST_TEST(header_of(65535) == "\x81\x7e\xff\xff"s);
    BOOST_TEST(header_of(65536) == "\x81\x7f\x00\x00\x00\x00\x00\x01\x00\x00"s);
}

BOOST_AUTO_TEST_CASE(the_size_is_known_beforehand) {
    for (const std::size_t bytes : {0, 125, 126, 65535, 65536}) {
        BOOST_TEST(streamld::text_frame_header_bytes(bytes) == header_of(bytes).size());
    }
}

BOOST_AUTO_TEST_SUITE_END()
