#include "contract/contract_case.hpp"

using streamld::store::errc;
using streamld::tests::fails_with;
using streamld::tests::one_event;

namespace {

std::string nested(int depth) {
    return std::string(static_cast<std::size_t>(depth), '[') +
           std::string(static_cast<std::size_t>(depth), ']');
}

} // namespace

BOOST_AUTO_TEST_SUITE(contract_payload)

CONTRACT_CASE(json_comes_back_byte_for_byte) {
    const std::vector<std::string> golden{
        R"({"n":9007199254740993,"m":123456789012345678901234567890,"e":1e400,"z":-0.0,"f":0.1000000000000000055,"t":1.0})",
        R"({"b":1,"a":2,"b":3})",
        " {\r\n\t\"a\" : [ 1 , 2 ] } \n",
        R"("\u0000 \ud800 \udc00x \uD83D\uDE00 \/ \\ \"")",
        "\"\xC3\xA9 \xE2\x80\xA8 \xF0\x9F\x98\x80 \x7F\"",
        "0",
        "-0",
        "1E+2",
        "null",
        "true",
        "\"\"",
        "[]",
        nested(64),
    };
    for (const auto& payload : golden)
        store.publish("a", payload);

    const auto page = store.read_all("a");

    BOOST_REQUIRE(page.events.size() == golden.size());
    for (std::size_t i = 0; i < golden.size(); ++i)
        BOOST_TEST(page.events[i].payload == golden[i]);
}

CONTRACT_CASE(what_is_no_json_value_is_refused) {
    const std::vector<std::string> faulty{
        "",
        " ",
        "NaN",
        "Infinity",
        "01",
        ".5",
        "1.",
        "+1",
        "0x1",
        "{",
        "[1,]",
        "{\"a\":1,}",
        "1 2",
        "'a'",
        "{a:1}",
        "\xEF\xBB\xBF{}",
        "\"\xFF\"",
        "\"\xC0\xAF\"",
        "\"\xED\xA0\x80\"",
        "\"a\nb\"",
        "\"\\x\"",
        "\"\\u12\"",
        "tru",
        std::string("\"a\0b\"", 5),
        std::string("1\0", 2),
        nested(65),
        "//x\n1",
    };

    for (const auto& payload : faulty)
        BOOST_TEST(
            fails_with(errc::invalid_payload, [&] { store.publish("a", payload); }), payload
        );

    BOOST_TEST(!store.info("a").has_value());
}

CONTRACT_CASE(deep_nesting_costs_no_stack) {
    for (const int depth : {500, 1200, 100'000, 1'000'000}) {
        BOOST_TEST(fails_with(errc::invalid_payload, [&] { store.publish("a", nested(depth)); }));
        BOOST_TEST(fails_with(errc::invalid_payload, [&] {
            store.publish("a", std::string(static_cast<std::size_t>(depth), '['));
        }));
    }
}

CONTRACT_CASE(json_ld_must_be_an_object) {
    auto request = one_event("a", "[]");
    request.content_type = "application/ld+json";
    BOOST_TEST(fails_with(errc::invalid_payload, [&] { store.append(request); }));

    request.events.front().payload = R"( {"@id":"x"})";
    BOOST_TEST(store.append(request).first == 1);
}

CONTRACT_CASE(any_other_type_takes_any_bytes_but_none) {
    std::string bytes;
    for (int i = 0; i < 256; ++i)
        bytes.push_back(static_cast<char>(i));
    auto request = one_event("a", bytes);
    request.content_type = "application/octet-stream";
    store.append(request);

    const auto page = store.read_all("a");

    BOOST_TEST((page.events.front().payload == bytes));
    BOOST_TEST(page.events.front().content_type == "application/octet-stream");
    request.events.front().payload.clear();
    BOOST_TEST(fails_with(errc::invalid_payload, [&] { store.append(request); }));
}

CONTRACT_CASE(size_limit_is_exact) {
    const auto limit = streamld::store::payload_bytes_max;
    BOOST_TEST(store.publish("a", "\"" + std::string(limit - 2, 'x') + "\"") == 1);

    BOOST_TEST(fails_with(errc::too_large, [&] {
        store.publish("a", "\"" + std::string(limit - 1, 'x') + "\"");
    }));
    BOOST_TEST(store.read_all("a").events.front().payload.size() == limit);
}

BOOST_AUTO_TEST_SUITE_END()
