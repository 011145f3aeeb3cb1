#include "contract/contract_case.hpp"

using streamld::store::errc;
using streamld::tests::fails_with;

BOOST_AUTO_TEST_SUITE(contract_names)

CONTRACT_CASE(look_alike_names_are_different_streams) {
    const std::vector<std::string> names{
        "caf\xC3\xA9",
        "cafe\xCC\x81",
        "Orders",
        "orders",
        "a",
        "a\xE2\x80\x8B",
        "\xC3\x85",
        "\xE2\x84\xAB",
        "a ",
        " a",
    };
    for (std::size_t i = 0; i < names.size(); ++i)
        store.publish(names[i], std::to_string(i));

    for (std::size_t i = 0; i < names.size(); ++i) {
        const auto page = store.read_all(names[i]);
        BOOST_REQUIRE(page.events.size() == 1U);
        BOOST_TEST(page.events.front().payload == std::to_string(i));
    }
    BOOST_TEST(
        store.loop.await(store.engine().streams("", "", 100, streamld::tests::in_time())).size() ==
        names.size()
    );
}

CONTRACT_CASE(longest_name_is_512_bytes) {
    BOOST_TEST(store.publish(std::string(512, 'x'), "1") == 1);

    BOOST_TEST(fails_with(errc::invalid_name, [&] { store.publish(std::string(513, 'x'), "1"); }));
    std::string wide;
    for (int i = 0; i < 257; ++i)
        wide += "\xC3\xA9";
    BOOST_TEST(fails_with(errc::invalid_name, [&] { store.publish(wide, "1"); }));
}

CONTRACT_CASE(names_that_break_the_rules_are_refused_everywhere) {
    const std::vector<std::string> faulty{
        "",
        ".",
        "..",
        "a\n",
        "\x7F",
        "\xC2\x85",
        "\xFF",
        "\xC3",
        "\xED\xA0\x80",
        std::string("a\0b", 3),
    };
    store.publish("known", "1");

    for (const auto& name : faulty) {
        BOOST_TEST(fails_with(errc::invalid_name, [&] { store.publish(name, "1"); }), name);
        BOOST_TEST(fails_with(errc::invalid_name, [&] { store.read_all(name); }), name);
        BOOST_TEST(fails_with(errc::invalid_name, [&] { store.info(name); }), name);
        BOOST_TEST(fails_with(errc::invalid_name, [&] { store.trim(name, 0); }), name);
        BOOST_TEST(
            fails_with(errc::invalid_name, [&] { store.save_offset("known", name, 0); }), name
        );
    }
}

CONTRACT_CASE(keys_may_be_dots_but_not_empty) {
    BOOST_TEST(store.publish_key("a", ".", "1") == 1);
    BOOST_TEST(store.publish_key("a", "..", "1") == 2);

    BOOST_TEST(fails_with(errc::invalid_name, [&] { store.publish_key("a", "", "1"); }));
    BOOST_TEST(fails_with(errc::invalid_name, [&] { store.publish_key("a", "x\ty", "1"); }));
    BOOST_TEST(fails_with(errc::invalid_name, [&] {
        store.publish_key("a", std::string(513, 'k'), "1");
    }));
}

CONTRACT_CASE(names_with_slashes_and_dots_inside_are_names) {
    for (const char* name : {"a/b", "...", "a.", "%2F", "a?b#c", "\xF0\x9F\x98\x80"})
        BOOST_TEST(store.publish(name, "1") == 1);
}

BOOST_AUTO_TEST_SUITE_END()
