#include "app/commands.hpp"

#include <span>

int main(int count, char** words) {
    const std::span<const char* const> all{words, static_cast<std::size_t>(count)};
    return streamld::app::run_command(all.subspan(all.empty() ? 0 : 1));
}
