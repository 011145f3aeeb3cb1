#include "api/gap_answer.hpp"

namespace streamld::api {

net::response gap_answer(const gap_signal& gap, bool is_jsonld) {
    net::response answer{409};
    answer.set("Content-Type", is_jsonld ? "application/ld+json" : "application/json");
    answer.set("Cache-Control", "no-store");
    answer.body = gap_json(gap, {}, is_jsonld);
    return answer;
}

} // namespace streamld::api
