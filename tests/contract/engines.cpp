#include "contract/engines.hpp"

#include "support/temp_dir.hpp"

namespace streamld::tests {

namespace {

class sqlite_storage final : public test_storage {
public:
    [[nodiscard]] std::string url() const override {
        return "sqlite:" + directory_.file("store.db");
    }

private:
    temp_dir directory_;
};

template <class Storage>
engine_under_test engine_of(std::string name) {
    engine_under_test engine;
    engine.name = std::move(name);
    engine.make_storage = [] { return std::make_unique<Storage>(); };
    return engine;
}

} // namespace

const std::vector<engine_under_test>& engines() {
    static const std::vector<engine_under_test> all{engine_of<sqlite_storage>("sqlite")};
    return all;
}

std::ostream& operator<<(std::ostream& out, const engine_under_test& engine) {
    return out << engine.name;
}

} // namespace streamld::tests
