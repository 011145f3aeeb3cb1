#include "hub/gap.hpp"

#include "base/json_string.hpp"
#include "hub/frame.hpp"

namespace streamld {

namespace {

std::string_view name_of(gap_reason why) {
    switch (why) {
    case gap_reason::trimmed:
        return "trimmed";
    case gap_reason::ahead:
        return "ahead";
    case gap_reason::epoch:
        return "epoch";
    }
    return "trimmed";
}

} // namespace

gap_reason reason_of(const gap_signal& gap) noexcept {
    switch (gap.reason) {
    case store::verdict::ahead:
        return gap_reason::ahead;
    case store::verdict::foreign:
        return gap_reason::epoch;
    case store::verdict::trimmed:
    case store::verdict::resolvable:
        break;
    }
    return gap_reason::trimmed;
}

std::string gap_json(const gap_signal& gap, std::string_view ref_json, bool is_jsonld) {
    std::string out;
    json_object object{out};
    if (is_jsonld) object.text("@context", jsonld_context_url());
    object.text("@type", "GapSignal").text("stream", gap.stream);
    if (const auto oldest = gap.bounds.oldest_available())
        object.number("oldestAvailable", *oldest);
    object.number("head", gap.bounds.head);
    if (!gap.bounds.epoch.empty()) object.text("epoch", gap.bounds.epoch);
    object.text("reason", name_of(reason_of(gap)));
    if (!ref_json.empty()) object.raw("ref", ref_json);
    object.close();
    return out;
}

} // namespace streamld
