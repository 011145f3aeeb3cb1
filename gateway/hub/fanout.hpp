#pragma once
// From the store to the shards. Hears every commit, encodes each event once per format that
// somebody follows, and posts the block to the shards that follow it, in commit order; passes hints
// on. One per process; called from the store's threads (store_observer) and from the shards
// (follow, forget).

#include "hub/frame.hpp"
#include "store/engine.hpp"

#include <cstddef>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace streamld {

class hub;

class fanout final : public store::store_observer {
public:
    using trouble_handler = void (*)(boost::system::error_code code, std::string_view what);

    explicit fanout(trouble_handler on_trouble) : on_trouble_(on_trouble) {}

    /// A shard joins before any traffic; its index is what follow() names.
    std::size_t add(hub& shard);
    /// Nothing is posted any more (before the hubs go).
    void close();

    void follow(std::size_t shard, const std::string& stream, wire_format format);
    void forget(std::size_t shard, const std::string& stream, wire_format format);

    /// A trim by this process, for every shard.
    void trimmed(const std::string& stream, offset_t horizon);

    void committed(std::span<const committed_append> appends) noexcept override;
    void grown(std::vector<grown_stream> streams) noexcept override;
    void look_at_all() noexcept override;
    void trouble(boost::system::error_code code, std::string_view what) noexcept override;

private:
    struct followed {
        wire_format format;
        std::vector<bool> shards;
    };

    [[nodiscard]] std::vector<followed> followers_of(std::string_view stream);
    [[nodiscard]] std::vector<hub*> shards();

    std::mutex mutex_; // Guards what follows; held for a look-up only.
    std::map<std::string, std::vector<followed>, std::less<>> followed_;
    std::vector<hub*> shards_;
    trouble_handler on_trouble_;
};

} // namespace streamld
