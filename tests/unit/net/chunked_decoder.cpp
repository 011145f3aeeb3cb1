#include "net/chunked_decoder.hpp"

#include <boost/test/unit_test.hpp>

#include <string>

namespace {

using streamld::net::chunked_decoder;
using progress = chunked_decoder::progress;

struct outcome {
    progress how;
    std::string body;
    std::string rest;
};

outcome decode(std::string_view wire, std::size_t step, std::size_t body_bytes_max = 1024) {
    chunked_decoder decoder;
    outcome result{progress::need_more, {}, {}};
    while (!wire.empty() && result.how == progress::need_more) {
        auto part = wire.substr(0, step);
        wire.remove_prefix(part.size());
        result.how = decoder.feed(part, result.body, body_bytes_max);
        result.rest = std::string(part) + std::string(wire);
    }
    return result;
}

void expect_body(std::string_view wire, std::string_view body, std::string_view rest = "") {
    for (const std::size_t step : {1, 2, 3, 1000}) {
        const auto result = decode(wire, step);
        BOOST_TEST((result.how == progress::done), wire);
        BOOST_TEST(result.body == body);
        BOOST_TEST(result.rest == rest);
    }
}

void expect_malformed(std::string_view wire) {
    for (const std::size_t step : {1, 1000}) {
        BOOST_TEST((decode(wire, step).how == progress::malformed), wire);
    }
}

} // namespace

BOOST_AUTO_TEST_SUITE(net_chunked_decoder)

BOOST_AUTO_TEST_CASE(bodies_come_out_whole_however_they_are_cut) {
    expect_body("0\r\n\r\n", "");
    expect_body("5\r\nhello\r\n0\r\n\r\n", "hello");
    expect_body("1\r\na\r\n2\r\nbc\r\n00\r\n\r\n", "abc");
    expect_body("A\r\n0123456789\r\n0\r\n\r\nGET / ", "0123456789", "GET / ");
}

BOOST_AUTO_TEST_CASE(extensions_and_trailers_are_read_over) {
    expect_body("5;name=value;x=\"y\"\r\nhello\r\n0;last\r\n\r\n", "hello");
    expect_body("5 ; a\r\nhello\r\n0 \r\nTrailer: x\r\nOther: y\r\n\r\n!", "hello", "!");
}

BOOST_AUTO_TEST_CASE(bad_framing_is_refused) {
    expect_malformed("\r\n");
    expect_malformed("x\r\n");
    expect_malformed("-1\r\n");
    expect_malformed("0x5\r\nhello\r\n");
    expect_malformed("5\nhello\n");
    expect_malformed("5 5\r\nhello");
    expect_malformed("5\r\nhelloX");
    expect_malformed("5\r\nhello\r\r");
    expect_malformed("fffffffffffffffff\r\n");
    expect_malformed("5;a\x01\r\n");
    expect_malformed("0\r\nT: x\n");
    expect_malformed("1;" + std::string(20'000, 'e'));
    expect_malformed("0\r\nT: " + std::string(20'000, 't'));
}

BOOST_AUTO_TEST_CASE(the_limit_is_met_before_the_bytes_are_kept) {
    BOOST_TEST((decode("5\r\nhello\r\n0\r\n\r\n", 1, 5).how == progress::done));
    BOOST_TEST((decode("6\r\nhello!\r\n0\r\n\r\n", 1, 5).how == progress::too_large));

    const auto late = decode("5\r\nhello\r\n1\r\n!\r\n0\r\n\r\n", 1, 5);

    BOOST_TEST((late.how == progress::too_large));
    BOOST_TEST(late.body == "hello");
}

BOOST_AUTO_TEST_SUITE_END()
