#include "metrics/exposition.hpp"

#include <boost/test/unit_test.hpp>

#include <array>
#include <chrono>
#include <string>

using std::chrono::microseconds;
using std::chrono::seconds;
using streamld::probes;

namespace {

struct two_shards {
    probes first;
    probes second;

    [[nodiscard]] std::string text() const {
        const std::array<const probes*, 2> shards{&first, &second};
        return streamld::exposition(shards, {}, {}, "1.2.3");
    }
};

bool has_line(const std::string& text, const std::string& line) {
    return text.find('\n' + line + '\n') != std::string::npos;
}

} // namespace

BOOST_AUTO_TEST_SUITE(metrics_exposition)

BOOST_AUTO_TEST_CASE(shards_are_added_up) {
    two_shards shards;
    shards.first.published(3);
    shards.second.published(4);
    shards.first.request_answered(404);
    shards.second.reader_opened(streamld::transport::sse);

    const auto text = shards.text();

    BOOST_TEST(has_line(text, "streamld_events_published_total 7"));
    BOOST_TEST(has_line(text, "streamld_http_responses_total{class=\"4xx\"} 1"));
    BOOST_TEST(has_line(text, "streamld_readers{transport=\"sse\"} 1"));
    BOOST_TEST(has_line(text, "streamld_build_info{version=\"1.2.3\"} 1"));
}

BOOST_AUTO_TEST_CASE(histogram_buckets_are_cumulative) {
    two_shards shards;
    shards.first.publish_took(microseconds{50});
    shards.second.publish_took(microseconds{100});
    shards.second.publish_took(seconds{100});

    const auto text = shards.text();

    BOOST_TEST(has_line(text, "streamld_publish_duration_seconds_bucket{le=\"6.4e-05\"} 1"));
    BOOST_TEST(has_line(text, "streamld_publish_duration_seconds_bucket{le=\"0.000128\"} 2"));
    BOOST_TEST(has_line(text, "streamld_publish_duration_seconds_bucket{le=\"+Inf\"} 3"));
    BOOST_TEST(has_line(text, "streamld_publish_duration_seconds_count 3"));
    BOOST_TEST(has_line(text, "streamld_publish_duration_seconds_sum 100.00015"));
}

BOOST_AUTO_TEST_CASE(every_family_is_described_once) {
    const auto text = two_shards{}.text();

    std::size_t helps = 0;
    std::size_t types = 0;
    for (auto at = text.find("# HELP"); at != std::string::npos; at = text.find("# HELP", at + 1))
        ++helps;
    for (auto at = text.find("# TYPE"); at != std::string::npos; at = text.find("# TYPE", at + 1))
        ++types;
    BOOST_TEST(helps == types);
    BOOST_TEST(helps > 20U);
    BOOST_TEST(text.ends_with('\n'));
}

BOOST_AUTO_TEST_CASE(the_process_knows_itself) {
    const auto process = streamld::read_process_figures();

    BOOST_TEST(process.resident_bytes > 0U);
    BOOST_TEST(process.open_files > 0U);
}

BOOST_AUTO_TEST_SUITE_END()
