#include "app/config.hpp"

#include <boost/test/unit_test.hpp>

#include <initializer_list>
#include <vector>

using streamld::app::config_result;
using streamld::app::read_config;

namespace {

config_result read(std::initializer_list<const char*> words) {
    const std::vector<const char*> all{words};
    return read_config(all);
}

} // namespace

BOOST_AUTO_TEST_SUITE(app_config)

BOOST_AUTO_TEST_CASE(the_defaults_are_sound_and_local) {
    const config_result result = read({});

    BOOST_TEST(result.faults.empty());
    BOOST_TEST(result.value.api.is_loopback);
    BOOST_TEST(result.value.listen.port() == 8080);
    BOOST_TEST(result.value.shards >= 1U);
    BOOST_TEST(result.value.api.payload_bytes_max == 1048576U);
    BOOST_TEST(result.value.api.heartbeat.count() == 15000);
}

BOOST_AUTO_TEST_CASE(every_setting_is_read) {
    const config_result result = read(
        {"--listen",
         "[::1]:0",
         "--store",
         "sqlite:x.db",
         "--shards=3",
         "--heartbeat",
         "1s",
         "--drain",
         "500ms",
         "--max-payload",
         "10",
         "--max-batch",
         "20",
         "--max-body",
         "30",
         "--poll-interval",
         "2m",
         "--public-url",
         "https://e.example/",
         "--allow-origin",
         "https://a.example",
         "--allow-origin",
         "https://b.example"}
    );

    // 2m is over what the poll interval may be; nothing else is wrong.
    BOOST_REQUIRE(result.faults.size() == 1U);
    BOOST_TEST(result.faults.front().starts_with("--poll-interval"));
    BOOST_TEST(result.value.listen.address().is_v6());
    BOOST_TEST(result.value.shards == 3U);
    BOOST_TEST(result.value.api.drain.count() == 500);
    BOOST_TEST(result.value.api.body_bytes_max == 30U);
    BOOST_TEST(result.value.api.public_url == "https://e.example");
    BOOST_TEST(result.value.api.allowed_origins.size() == 2U);
}

BOOST_AUTO_TEST_CASE(all_faults_are_told_at_once) {
    const config_result result = read(
        {"--listen",
         "nowhere",
         "--shards",
         "0",
         "--heartbeat",
         "soon",
         "--max-payload",
         "-1",
         "--log-level",
         "loud"}
    );

    BOOST_TEST(result.faults.size() == 5U);
}

BOOST_AUTO_TEST_CASE(beyond_loopback_it_wants_to_be_told_twice) {
    BOOST_TEST(read({"--listen", "0.0.0.0:80"}).faults.size() == 1U);
    BOOST_TEST(read({"--listen", "0.0.0.0:80", "--insecure-open"}).faults.empty());
}

BOOST_AUTO_TEST_CASE(an_unknown_or_shortened_setting_is_a_fault) {
    BOOST_TEST(read({"--shard", "2"}).faults.size() == 1U);
    BOOST_TEST(read({"stray"}).faults.at(0) == "'stray' is no option");
    BOOST_TEST(read({"--store", "ftp:x"}).faults.size() == 1U);
}

BOOST_AUTO_TEST_SUITE_END()
