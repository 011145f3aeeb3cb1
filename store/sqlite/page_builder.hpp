#pragma once
// Copies rows into a page. The bytes go into chunks that never move, so the views stay valid while
// the page grows.

#include "store/engine.hpp"
#include "store/sqlite/connection.hpp"

#include <cstring>

namespace streamld::store::sqlite {

class page_builder {
public:
    explicit page_builder(event_page& page) noexcept : page_(page) {}

    /// Takes the row that `query` stands on (the columns of queries::read_events).
    void add(statement& query, offset_t offset);

    [[nodiscard]] std::size_t size() const noexcept { return size_; }

private:
    static constexpr std::size_t first_chunk = 4096;
    // Below malloc's threshold for mapping, where each page of a chunk would cost a fault.
    static constexpr std::size_t chunk_max = std::size_t{64} << 10;

    std::string_view keep(std::string_view bytes);
    std::string_view keep_type(std::string_view type);
    char* room_for(std::size_t size);

    event_page& page_;
    char* at_ = nullptr;
    std::size_t left_ = 0;
    std::size_t next_chunk_ = first_chunk;
    std::size_t size_ = 0; // Payloads and keys, which is what a reader's limit counts.
};

} // namespace streamld::store::sqlite
