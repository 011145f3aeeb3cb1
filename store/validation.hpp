#pragma once
// The rules every engine applies before it touches its storage. Pure; throws store::error.

#include "store/engine.hpp"

namespace streamld::store {

void require_stream_name(const std::string& name);
void require_consumer_name(const std::string& name);
void require_key(const std::string& key);
void require_offset(offset_t offset);

/// Names, keys, sizes and payloads of a publish.
void require_valid(const append_request& request);

} // namespace streamld::store
