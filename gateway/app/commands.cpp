#include "app/commands.hpp"

#include "app/app.hpp"
#include "app/config.hpp"

#include <cstdlib>
#include <iostream>
#include <string_view>

namespace streamld::app {

namespace {

constexpr int usage_error = 2;

constexpr std::string_view usage =
    "usage: streamld serve [options]   run the gateway (streamld serve --help)\n"
    "       streamld check [options]   print the settings that serve would use\n"
    "       streamld version\n";

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

} // namespace

int run_command(std::span<const char* const> arguments) {
    const std::string_view command = arguments.empty() ? std::string_view{} : arguments.front();
    if (command == "serve" || command == "check")
        return run_with_settings(command, arguments.subspan(1));
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
