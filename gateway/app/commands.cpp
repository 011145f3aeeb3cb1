#include "app/commands.hpp"

#include "app/app.hpp"
#include "app/config.hpp"
#include "store/open_store.hpp"

#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>

namespace streamld::app {

namespace {

constexpr int usage_error = 2;

constexpr std::string_view usage =
    "usage: streamld serve [options]   run the gateway (streamld serve --help)\n"
    "       streamld check [options]   print the settings that serve would use\n"
    "       streamld sql [options]     print the database schema (streamld sql --help)\n"
    "       streamld version\n";

constexpr std::string_view sql_usage =
    "usage: streamld sql --engine sqlite | sqlite3 -bail <file>\n"
    "       streamld sql --engine postgres [--roles] | psql -v ON_ERROR_STOP=1 <database>\n"
    "\n"
    "Prints what serve would do to an empty database, for those who let only an owner change\n"
    "schemas. The gateway then needs no right to create anything.\n"
    "\n"
    "  --engine NAME   sqlite or postgres\n"
    "  --roles         also the roles streamld_publisher, streamld_reader, streamld_gateway "
    "(postgres)\n";

int report(const config_result& settings) {
    for (const std::string& fault : settings.faults)
        std::cerr << "streamld: " << fault << "\n";
    std::cerr << "streamld: see streamld serve --help\n";
    return usage_error;
}

int run_with_settings(std::string_view command, std::span<const char* const> arguments) {
    const config_result settings = read_config(arguments);
    if (settings.wants_help) {
        std::cout << serve_help();
        return EXIT_SUCCESS;
    }
    if (!settings.faults.empty()) return report(settings);
    if (command == "serve") return serve(settings.value);
    std::cout << describe(settings.value);
    return EXIT_SUCCESS;
}

int report_sql(const std::string& fault) {
    std::cerr << "streamld: " << fault << "\nstreamld: see streamld sql --help\n";
    return usage_error;
}

int print_schema(std::span<const char* const> arguments) {
    std::string engine;
    auto part = store::schema_part::tables;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const std::string_view word = arguments[i];
        if (word == "--help") {
            std::cout << sql_usage;
            return EXIT_SUCCESS;
        }
        if (word == "--roles") {
            part = store::schema_part::tables_and_roles;
        } else if (word == "--engine") {
            if (i + 1 < arguments.size()) engine = arguments[++i];
        } else if (word.starts_with("--engine=")) {
            engine = word.substr(word.find('=') + 1);
        } else {
            return report_sql("unexpected '" + std::string(word) + "'");
        }
    }
    if (engine.empty()) return report_sql("--engine must be sqlite or postgres");
    if (engine == "sqlite" && part == store::schema_part::tables_and_roles)
        return report_sql("--roles is for postgres: SQLite has no roles");
    const std::string schema = store::schema_text(engine, part);
    if (schema.empty())
        return report_sql("--engine must be sqlite or postgres, not '" + engine + "'");
    std::cout << schema;
    return EXIT_SUCCESS;
}

} // namespace

int run_command(std::span<const char* const> arguments) {
    const std::string_view command = arguments.empty() ? std::string_view{} : arguments.front();
    if (command == "serve" || command == "check")
        return run_with_settings(command, arguments.subspan(1));
    if (command == "sql") return print_schema(arguments.subspan(1));
    if (command == "version" || command == "--version") {
        std::cout << "streamld " << STREAMLD_VERSION << "\n";
        return EXIT_SUCCESS;
    }
    if (command == "help" || command == "--help") {
        std::cout << usage;
        return EXIT_SUCCESS;
    }
    if (!command.empty()) std::cerr << "streamld: there is no command '" << command << "'\n";
    std::cerr << usage;
    return usage_error;
}

} // namespace streamld::app
