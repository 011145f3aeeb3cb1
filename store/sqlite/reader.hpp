#pragma once
// One reading connection: short transactions, everything copied out before they end. One thread at
// a time (a worker's).

#include "store/engine.hpp"
#include "store/sqlite/database_file.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace streamld::store::sqlite {

class reader {
public:
    reader(const database_settings& settings, file_identity& identity);
    reader(const reader&) = delete;
    reader& operator=(const reader&) = delete;
    ~reader();

    event_page read(const read_request& request);
    std::optional<stream_info> info(const std::string& stream);
    position locate(const std::string& stream, const start_point& start, const std::string& key);
    std::vector<stream_info>
    streams(const std::string& prefix, const std::string& after, std::size_t limit);
    offset_t saved_offset(const std::string& stream, const std::string& consumer);
    std::vector<consumer_offset> consumers(const std::string& stream);

private:
    struct opened;
    struct found_stream;

    template <class Work>
    auto in_snapshot(Work work);

    const database_settings settings_;
    file_identity& identity_;
    std::unique_ptr<opened> open_;
};

} // namespace streamld::store::sqlite
