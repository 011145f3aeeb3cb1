#pragma once
// A log in memory that a test scripts: reads can be held back and made to fail, and are counted.
// For tests of the hub, which is about what happens between the reads; what an engine must do is
// the contract suite's.

#include "base/wakeup.hpp"
#include "store/engine.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace streamld::test {

class scripted_engine final : public store::engine {
public:
    explicit scripted_engine(turn& owner) : turn_(owner) {}

    struct log {
        std::vector<store::new_event> events;
        store::offset_t horizon = 0;
        std::string epoch = "00000000000000aa";
    };

    std::map<std::string, log> logs;
    bool reads_fail = false;
    std::size_t page_reads = 0;
    std::size_t info_reads = 0;

    /// Reads wait from now on, until let_go().
    void hold_reads() { is_holding_ = true; }

    void let_go();

    [[nodiscard]] std::size_t held_reads() const noexcept { return held_.size(); }

    /// As another process would: nobody is told.
    void append_silently(const std::string& stream, int events, const std::string& key = {});

    boost::asio::awaitable<store::append_outcome>
        append(store::append_request, store::deadline_t) override;
    boost::asio::awaitable<store::event_page>
    read(store::read_request request, store::deadline_t) override;
    boost::asio::awaitable<std::optional<store::stream_info>>
    info(std::string stream, store::deadline_t) override;
    boost::asio::awaitable<store::position> locate(
        std::string stream, store::start_point start, std::string key, store::deadline_t
    ) override;
    boost::asio::awaitable<std::vector<store::stream_info>>
        streams(std::string, std::string, std::size_t, store::deadline_t) override;
    boost::asio::awaitable<created> create(std::string, store::deadline_t) override;
    boost::asio::awaitable<store::trim_outcome>
        trim(store::trim_request, store::deadline_t) override;
    boost::asio::awaitable<store::save_outcome>
        save_offset(std::string, std::string, store::offset_t, store::deadline_t) override;
    boost::asio::awaitable<store::offset_t>
        get_offset(std::string, std::string, store::deadline_t) override;
    boost::asio::awaitable<std::vector<store::consumer_offset>>
        consumers(std::string, store::deadline_t) override;
    boost::asio::awaitable<void>
        forget_consumer(std::string, std::string, store::deadline_t) override;
    boost::asio::awaitable<void> transaction(
        std::function<boost::asio::awaitable<void>(store::tx_handle&)>, store::deadline_t
    ) override;
    boost::asio::awaitable<void> probe(store::deadline_t) override;

    [[nodiscard]] store::engine_figures figures() const noexcept override { return {}; }

    boost::asio::awaitable<void> close() override;

private:
    boost::asio::awaitable<void> pass();
    [[nodiscard]] store::stream_bounds bounds_of(const std::string& stream) const;

    turn& turn_;
    bool is_holding_ = false;
    std::vector<wakeup*> held_;
};

} // namespace streamld::test
