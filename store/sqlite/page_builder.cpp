#include "store/sqlite/page_builder.hpp"

#include <algorithm>

namespace streamld::store::sqlite {

void page_builder::add(statement& query, offset_t offset) {
    event_view view;
    view.offset = offset;
    view.created_at = query.integer(1);
    view.is_snapshot = query.integer(2) != 0;
    view.is_checked = query.integer(3) != 0;
    view.content_type = query.is_null(4) ? default_content_type : keep_type(query.bytes(4));
    if (!query.is_null(5)) view.key = keep(query.bytes(5));
    view.payload = keep(query.bytes(6));
    size_ += view.payload.size() + view.key.size();
    page_.events.push_back(view);
}

// Neighbours mostly share their type.
std::string_view page_builder::keep_type(std::string_view type) {
    if (!page_.events.empty() && page_.events.back().content_type == type)
        return page_.events.back().content_type;
    return keep(type);
}

std::string_view page_builder::keep(std::string_view bytes) {
    if (bytes.empty()) return {};
    char* room = room_for(bytes.size());
    std::memcpy(room, bytes.data(), bytes.size());
    return {room, bytes.size()};
}

char* page_builder::room_for(std::size_t size) {
    if (size > left_) {
        const std::size_t chunk = std::max(size, next_chunk_);
        next_chunk_ = std::min(next_chunk_ * 4, chunk_max);
        // Not make_unique, which would clear the memory first.
        std::unique_ptr<char[]> fresh(new char[chunk]);
        at_ = fresh.get();
        left_ = chunk;
        if (page_.bytes == nullptr) {
            page_.bytes = std::move(fresh);
        } else {
            page_.more_bytes.push_back(std::move(fresh));
        }
    }
    char* room = at_;
    at_ += size;
    left_ -= size;
    return room;
}

} // namespace streamld::store::sqlite
