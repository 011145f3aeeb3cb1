// GET /streamld/context.jsonld and /streamld/model/envelope.ttl; the linked-data terms of the wire
// (StreamLD core).

#include "api/documents.hpp"

#include "api/handlers.hpp"

namespace streamld::api {

namespace {

// A name is an IRI reference in a SubscriptionRequest only. `payload` has its own scope, so these
// terms do not leak in.
constexpr std::string_view context_text = R"({
  "@context": {
    "@version": 1.1,
    "streamld": "https://openfaster.org/streamld#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",

    "EventEnvelope": "streamld:EventEnvelope",
    "streamId": {"@id": "streamld:streamId", "@type": "xsd:string"},
    "sequence": {"@id": "streamld:sequence", "@type": "xsd:integer"},
    "isSnapshot": {"@id": "streamld:isSnapshot", "@type": "xsd:boolean"},
    "key": {"@id": "streamld:key", "@type": "xsd:string"},
    "createdAt": {"@id": "streamld:createdAt", "@type": "xsd:integer"},
    "contentType": {"@id": "streamld:contentType", "@type": "xsd:string"},
    "payload": {
      "@id": "streamld:payload",
      "@context": [null, {"xsd": "http://www.w3.org/2001/XMLSchema#"}]
    },

    "ReplicationFrame": "streamld:ReplicationFrame",
    "cursor": {"@id": "streamld:cursor", "@type": "xsd:integer"},
    "event": {"@id": "streamld:event"},

    "SubscriptionRequest": {
      "@id": "streamld:SubscriptionRequest",
      "@context": {"stream": {"@id": "streamld:stream", "@type": "@id"}}
    },
    "stream": {"@id": "streamld:stream"},
    "after": {"@id": "streamld:after", "@type": "xsd:integer"},

    "GapSignal": "streamld:GapSignal",
    "oldestAvailable": {"@id": "streamld:oldestAvailable", "@type": "xsd:integer"},
    "head": {"@id": "streamld:head", "@type": "xsd:integer"},
    "epoch": {"@id": "streamld:epoch", "@type": "xsd:string"},
    "reason": {"@id": "streamld:reason", "@type": "xsd:string"},

    "EventPage": "streamld:EventPage",
    "events": {"@id": "streamld:events", "@container": "@list"},
    "next": {"@id": "streamld:next", "@type": "xsd:integer"},

    "Position": "streamld:Position"
  }
}
)";

constexpr std::string_view shapes_text = R"(@prefix sh: <http://www.w3.org/ns/shacl#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@prefix streamld: <https://openfaster.org/streamld#> .

streamld:EventEnvelopeShape
    a sh:NodeShape ;
    sh:targetClass streamld:EventEnvelope ;
    sh:property [
        sh:path streamld:sequence ;
        sh:datatype xsd:integer ;
        sh:minInclusive 1 ;
        sh:minCount 1 ;
        sh:maxCount 1
    ] ;
    sh:property [
        sh:path streamld:streamId ;
        sh:datatype xsd:string ;
        sh:minCount 1 ;
        sh:maxCount 1
    ] ;
    sh:property [
        sh:path streamld:isSnapshot ;
        sh:datatype xsd:boolean ;
        sh:minCount 1 ;
        sh:maxCount 1
    ] ;
    sh:property [
        sh:path streamld:payload ;
        sh:minCount 1 ;
        sh:maxCount 1
    ] .

streamld:ReplicationFrameShape
    a sh:NodeShape ;
    sh:targetClass streamld:ReplicationFrame ;
    sh:property [
        sh:path streamld:cursor ;
        sh:datatype xsd:integer ;
        sh:minInclusive 0 ;
        sh:minCount 1 ;
        sh:maxCount 1
    ] ;
    sh:property [
        sh:path streamld:event ;
        sh:node streamld:EventEnvelopeShape ;
        sh:minCount 1 ;
        sh:maxCount 1
    ] .

streamld:SubscriptionRequestShape
    a sh:NodeShape ;
    sh:targetClass streamld:SubscriptionRequest ;
    sh:property [
        sh:path streamld:stream ;
        sh:nodeKind sh:IRI ;
        sh:minCount 1 ;
        sh:maxCount 1
    ] ;
    sh:property [
        sh:path streamld:after ;
        sh:datatype xsd:integer ;
        sh:minInclusive 0 ;
        sh:maxCount 1
    ] .

streamld:GapSignalShape
    a sh:NodeShape ;
    sh:targetClass streamld:GapSignal ;
    sh:property [
        sh:path streamld:oldestAvailable ;
        sh:datatype xsd:integer ;
        sh:minInclusive 1 ;
        sh:maxCount 1
    ] .
)";

net::response document(std::string_view content_type, std::string_view text) {
    net::response answer;
    answer.set("Content-Type", std::string(content_type));
    answer.set("Cache-Control", "public, max-age=3600");
    answer.body = text;
    return answer;
}

} // namespace

std::string_view context_document() noexcept {
    return context_text;
}

std::string_view shapes_document() noexcept {
    return shapes_text;
}

answer_t get_context(exchange&) {
    co_return document("application/ld+json", context_text);
}

answer_t get_shapes(exchange&) {
    co_return document("text/turtle", shapes_text);
}

} // namespace streamld::api
