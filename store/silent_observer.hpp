#pragma once
// Stands in where a store is opened without an observer. Any thread.

#include "store/engine.hpp"

namespace streamld::store {

class silent_observer final : public store_observer {
public:
    void committed(std::span<const committed_append> /*appends*/) noexcept override {}

    void grown(std::vector<grown_stream> /*streams*/) noexcept override {}

    void look_at_all() noexcept override {}

    void trouble(boost::system::error_code /*code*/, std::string_view /*what*/) noexcept override {}
};

} // namespace streamld::store
