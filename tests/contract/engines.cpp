#include "contract/engines.hpp"

#include "store/open_store.hpp"
#include "support/postgres_server.hpp"
#include "support/store_fixture.hpp"
#include "support/temp_dir.hpp"

#include <iostream>

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

/// Migrated once; every case gets a copy, which is quicker than to migrate again.
const std::string& postgres_template() {
    static const test_database database;
    static const bool is_migrated = [] {
        store_fixture opened(database.url());
        return true;
    }();
    static_cast<void>(is_migrated);
    return database.name();
}

class postgres_storage final : public test_storage {
public:
    [[nodiscard]] std::string url() const override { return database_.url(); }

private:
    test_database database_{postgres_template()};
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
    static const std::vector<engine_under_test> all = [] {
        std::vector<engine_under_test> found;
        found.push_back(engine_of<sqlite_storage>("sqlite"));
        if (postgres_server_url().empty())
            std::cerr << "streamld: no Postgres server, so the contract is tried on SQLite only\n";
        else if (store::fault_of_store_url(postgres_server_url()).empty())
            found.push_back(engine_of<postgres_storage>("postgres"));
        return found;
    }();
    return all;
}

std::ostream& operator<<(std::ostream& out, const engine_under_test& engine) {
    return out << engine.name;
}

} // namespace streamld::tests
