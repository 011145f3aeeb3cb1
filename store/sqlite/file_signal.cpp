#include "store/sqlite/file_signal.hpp"

#ifdef __linux__
#include <array>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <poll.h>
#include <string_view>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>
#endif

namespace streamld::store::sqlite {

#ifdef __linux__

file_signal::file_signal(const std::string& path) : log_path_(path + "-wal") {
    const std::filesystem::path file(path);
    database_name_ = file.filename().string();
    poke_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    notify_ = ::inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    // Out of watches or descriptors: the time-out still wakes, only later.
    if (notify_ < 0) return;
    const auto directory = file.has_parent_path() ? file.parent_path().string() : std::string(".");
    directory_watch_ = ::inotify_add_watch(
        notify_, directory.c_str(), IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO
    );
    watch_log();
}

file_signal::~file_signal() {
    if (notify_ >= 0) ::close(notify_);
    if (poke_ >= 0) ::close(poke_);
}

// The -wal may go and come again (another process was the last to close it); its watch goes with
// it.
void file_signal::watch_log() noexcept {
    log_watch_ = ::inotify_add_watch(notify_, log_path_.c_str(), IN_MODIFY);
}

// True if the log was written, or one of our names changed hands.
bool file_signal::read_events() noexcept {
    alignas(inotify_event) std::array<char, 4096> buffer{};
    bool is_ours = false;
    for (;;) {
        const auto size = ::read(notify_, buffer.data(), buffer.size());
        if (size <= 0) return is_ours;
        for (std::size_t at = 0; at < static_cast<std::size_t>(size);) {
            inotify_event event{};
            std::memcpy(&event, buffer.data() + at, sizeof event);
            const char* name = buffer.data() + at + sizeof event;
            at += sizeof event + event.len;
            if (event.wd == log_watch_ || (event.mask & IN_Q_OVERFLOW) != 0) is_ours = true;
            if (event.wd != directory_watch_ || event.len == 0) continue;
            if (!std::string_view(name).starts_with(database_name_)) continue;
            watch_log();
            is_ours = true;
        }
    }
}

file_signal::reason file_signal::wait(std::chrono::microseconds at_most) {
    const auto until = std::chrono::steady_clock::now() + at_most;
    for (;;) {
        const auto left =
            std::chrono::ceil<std::chrono::microseconds>(until - std::chrono::steady_clock::now());
        if (left.count() <= 0) return reason::timeout;
        std::array<pollfd, 2> waits{pollfd{poke_, POLLIN, 0}, pollfd{notify_, POLLIN, 0}};
        timespec limit{};
        limit.tv_sec = left.count() / 1'000'000;
        limit.tv_nsec = (left.count() % 1'000'000) * 1'000;
        if (::ppoll(waits.data(), waits.size(), &limit, nullptr) <= 0) continue;
        const bool is_ours = (waits[1].revents & POLLIN) != 0 && read_events();
        if ((waits[0].revents & POLLIN) != 0) {
            std::uint64_t count = 0;
            if (::read(poke_, &count, sizeof count) > 0) return reason::poked;
        }
        if (is_ours) return reason::written;
    }
}

void file_signal::poke() noexcept {
    const std::uint64_t one = 1;
    // A full counter means that a wake is already due.
    if (::write(poke_, &one, sizeof one) < 0) return;
}

#else

file_signal::file_signal(const std::string& /*path*/) {}

file_signal::~file_signal() = default;

file_signal::reason file_signal::wait(std::chrono::microseconds at_most) {
    std::unique_lock lock(mutex_);
    const bool is_poked = changed_.wait_for(lock, at_most, [this] { return is_poked_; });
    is_poked_ = false;
    return is_poked ? reason::poked : reason::timeout;
}

void file_signal::poke() noexcept {
    {
        const std::lock_guard lock(mutex_);
        is_poked_ = true;
    }
    changed_.notify_one();
}

#endif

} // namespace streamld::store::sqlite
