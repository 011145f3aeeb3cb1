#pragma once
// CONTRACT_CASE(name) { ... store ... } runs its body for each engine, with a fresh, open store.

#include "contract/engines.hpp"
#include "support/store_fixture.hpp"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

namespace streamld::tests {

struct contract_store {
    explicit contract_store(const engine_under_test& engine)
        : storage(engine.make_storage()), fixture(storage->url()) {}

    std::unique_ptr<test_storage> storage;
    store_fixture fixture;
};

} // namespace streamld::tests

// Macros only where Boost.Test leaves no other way: one case for each engine in the list.
#define CONTRACT_CASE(name)                                                                        \
    static void name##_body(streamld::tests::store_fixture& store);                                \
    BOOST_DATA_TEST_CASE(name, streamld::tests::engines(), engine_tried) {                         \
        streamld::tests::contract_store opened(engine_tried);                                      \
        name##_body(opened.fixture);                                                               \
    }                                                                                              \
    static void name##_body([[maybe_unused]] streamld::tests::store_fixture& store)
