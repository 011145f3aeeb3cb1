#include "hub/frame.hpp"

#include <boost/test/unit_test.hpp>

#include <string>

using streamld::block_builder;
using streamld::block_ptr;
using streamld::framing;
using streamld::wire_format;
using streamld::store::event_view;

namespace {

event_view json_event(streamld::offset_t offset, std::string_view payload) {
    event_view event;
    event.offset = offset;
    event.created_at = 1700000000;
    event.payload = payload;
    event.content_type = "application/json";
    return event;
}

wire_format format_of(framing how, bool is_jsonld = false) {
    wire_format format;
    format.how = how;
    format.is_jsonld = is_jsonld;
    return format;
}

std::string encode(wire_format format, const event_view& event) {
    block_builder builder{"orders", "0123456789abcdef", format};
    builder.add(event);
    const block_ptr block = builder.finish({});
    return std::string{block->bytes(0, 1)};
}

} // namespace

BOOST_AUTO_TEST_SUITE(hub_frame)

BOOST_AUTO_TEST_CASE(an_envelope_has_its_members_in_the_contract_s_order) {
    event_view event = json_event(7, R"({"a":1})");
    event.key = "k";
    event.is_snapshot = true;

    BOOST_TEST(
        encode(format_of(framing::item), event) ==
        R"({"streamId":"orders","sequence":7,"isSnapshot":true,"key":"k","createdAt":1700000000,"payload":{"a":1}})"
    );
}

BOOST_AUTO_TEST_CASE(an_event_on_a_stream_is_one_block_with_an_id_and_one_line_of_data) {
    const event_view event = json_event(7, "{\r\n\"a\":\r1}");

    BOOST_TEST(
        encode(format_of(framing::sse), event) ==
        "id: 7\ndata: "
        "{\"@type\":\"ReplicationFrame\",\"cursor\":7,\"event\":{\"@type\":\"EventEnvelope\","
        "\"streamId\":\"orders\",\"sequence\":7,\"isSnapshot\":false,\"createdAt\":1700000000,"
        "\"payload\":{  \"a\": 1}}}\n\n"
    );
}

BOOST_AUTO_TEST_CASE(an_id_can_carry_the_epoch) {
    wire_format format = format_of(framing::sse);
    format.has_epoch_id = true;

    BOOST_TEST(encode(format, json_event(7, "1")).starts_with("id: 7.0123456789abcdef\n"));
}

BOOST_AUTO_TEST_CASE(a_websocket_message_has_its_length_in_front) {
    const std::string small = encode(format_of(framing::websocket), json_event(1, "1"));
    const std::string large =
        encode(format_of(framing::websocket), json_event(1, '"' + std::string(70'000, 'x') + '"'));

    BOOST_TEST(static_cast<unsigned char>(small[0]) == 0x81);
    BOOST_TEST(static_cast<unsigned char>(small[1]) == 126);
    const std::size_t said =
        static_cast<unsigned char>(small[2]) * 256U + static_cast<unsigned char>(small[3]);
    BOOST_TEST(said == small.size() - 4);
    BOOST_TEST(static_cast<unsigned char>(large[1]) == 127);
    BOOST_TEST(large.substr(10, 2) == "{\"");
}

BOOST_AUTO_TEST_CASE(bytes_that_are_no_json_go_out_as_base64) {
    event_view event = json_event(1, std::string_view{"\x00\xff\n", 3});
    event.content_type = "application/octet-stream";

    BOOST_TEST(
        encode(format_of(framing::line), event) ==
        "{\"streamId\":\"orders\",\"sequence\":1,\"isSnapshot\":false,\"createdAt\":1700000000,"
        "\"contentType\":\"application/"
        "octet-stream\",\"payload\":{\"@type\":\"xsd:base64Binary\",\"@value\":\"AP8K\"}}\n"
    );
}

BOOST_AUTO_TEST_CASE(what_sql_published_is_checked_before_it_may_be_a_frame) {
    event_view event = json_event(1, "{\"a\":\"\xff\"}");
    event.is_checked = false;

    BOOST_TEST(
        encode(format_of(framing::item), event).find("xsd:base64Binary") != std::string::npos
    );
}

BOOST_AUTO_TEST_CASE(json_ld_frames_are_whole_documents) {
    streamld::set_jsonld_context_url("http://127.0.0.1:1/streamld/context.jsonld");
    event_view linked = json_event(2, R"({"@id":"x"})");
    linked.content_type = "application/ld+json";

    const std::string plain = encode(format_of(framing::sse_bare, true), json_event(1, "[1]"));

    BOOST_TEST(plain.starts_with(
        R"(data: {"@context":"http://127.0.0.1:1/streamld/context.jsonld","@type":"ReplicationFrame")"
    ));
    BOOST_TEST(plain.find(R"("payload":{"@type":"@json","@value":[1]})") != std::string::npos);
    BOOST_TEST(
        encode(format_of(framing::item, true), linked).find(R"("payload":{"@id":"x"})") !=
        std::string::npos
    );
}

BOOST_AUTO_TEST_CASE(a_run_of_frames_is_one_piece) {
    block_builder builder{"s", "", format_of(framing::line)};
    for (streamld::offset_t offset = 5; offset < 8; ++offset)
        builder.add(json_event(offset, "1"));

    const block_ptr block = builder.finish({});

    BOOST_TEST(block->first() == 5);
    BOOST_TEST(block->last() == 7);
    BOOST_TEST(
        block->bytes(0, 3) == std::string{block->bytes(0, 1)} + std::string{block->bytes(1, 2)} +
                                  std::string{block->bytes(2, 3)}
    );
}

BOOST_AUTO_TEST_CASE(each_frame_keeps_its_key) {
    block_builder builder{"s", "", format_of(framing::line)};
    event_view keyed = json_event(1, "1");
    keyed.key = "left";
    builder.add(keyed);
    builder.add(json_event(2, "1"));
    keyed.key = "right";
    builder.add(keyed);

    const block_ptr block = builder.finish({});

    BOOST_TEST(block->key(0) == "left");
    BOOST_TEST(block->key(1) == "");
    BOOST_TEST(block->key(2) == "right");
}

BOOST_AUTO_TEST_SUITE_END()
