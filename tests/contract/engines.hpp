#pragma once
// The engines that the contract is tried on. A new engine is one line in engines.cpp, and done when
// the suites pass. Postgres is among them where the run has a server.

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

namespace streamld::tests {

/// Storage that is empty at first and gone with the object.
class test_storage {
public:
    virtual ~test_storage() = default;
    [[nodiscard]] virtual std::string url() const = 0;
};

struct engine_under_test {
    std::string name;
    std::function<std::unique_ptr<test_storage>()> make_storage;
};

[[nodiscard]] const std::vector<engine_under_test>& engines();

std::ostream& operator<<(std::ostream& out, const engine_under_test& engine);

} // namespace streamld::tests
