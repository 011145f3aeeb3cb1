#include "base/log.hpp"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <unistd.h>

namespace streamld::log {

namespace {

std::atomic<level> least_level{level::info};

std::string_view name_of(level severity) noexcept {
    switch (severity) {
    case level::debug:
        return "debug";
    case level::info:
        return "info";
    case level::warning:
        return "warning";
    case level::error:
        return "error";
    }
    return "error";
}

void append_timestamp(std::string& line) {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
    const auto seconds = static_cast<std::time_t>(milliseconds / 1000);
    std::tm utc{};
    gmtime_r(&seconds, &utc);
    char text[40];
    const auto length = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &utc);
    line.append(text, length);
    std::snprintf(text, sizeof text, ".%03dZ ", static_cast<int>(milliseconds % 1000));
    line += text;
}

bool is_control(char c) noexcept {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
}

bool is_plain(std::string_view value) noexcept {
    for (const char c : value) {
        if (c == ' ' || c == '"' || c == '=' || c == '\\' || is_control(c)) return false;
    }
    return !value.empty();
}

void append_escaped(std::string& line, std::string_view text) {
    for (const char c : text) {
        if (c == '"' || c == '\\') {
            line.push_back('\\');
            line.push_back(c);
        } else if (c == '\n') {
            line += "\\n";
        } else if (is_control(c)) {
            char code[8];
            std::snprintf(code, sizeof code, "\\x%02x", static_cast<unsigned char>(c));
            line += code;
        } else {
            line.push_back(c);
        }
    }
}

void append_field(std::string& line, const field& each) {
    line.push_back(' ');
    append_escaped(line, each.first);
    line.push_back('=');
    if (is_plain(each.second)) {
        line += each.second;
        return;
    }
    line.push_back('"');
    append_escaped(line, each.second);
    line.push_back('"');
}

} // namespace

void set_level(level least) noexcept {
    least_level.store(least, std::memory_order_relaxed);
}

void write(
    level severity,
    std::string_view area,
    std::string_view message,
    std::initializer_list<field> fields
) noexcept {
    if (severity < least_level.load(std::memory_order_relaxed)) return;
    try {
        std::string line;
        append_timestamp(line);
        line += name_of(severity);
        line.push_back(' ');
        append_escaped(line, area);
        line.push_back(' ');
        append_escaped(line, message);
        for (const auto& each : fields) {
            append_field(line, each);
        }
        line.push_back('\n');
        // One call a line, so lines of several threads do not mix. There is nobody to tell of a
        // failure.
        [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line.data(), line.size());
    } catch (...) {
        // Out of memory: a log line is not worth an ending.
    }
}

} // namespace streamld::log
