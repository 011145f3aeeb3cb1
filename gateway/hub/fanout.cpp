#include "hub/fanout.hpp"

#include "hub/hub.hpp"

#include <boost/asio/post.hpp>

#include <algorithm>
#include <memory>
#include <utility>

namespace streamld {

namespace {

constexpr std::size_t block_bytes_max = 128 * 1024;

struct delivery {
    std::string stream;
    wire_format format;
    block_ptr block;
};

/// One followed (stream, format) within one commit: its events run on from block to block.
struct encoding_run {
    wire_format format;
    std::vector<bool> shards;
    block_builder builder;

    encoding_run(
        std::string_view stream,
        std::string_view epoch,
        const wire_format& how,
        std::vector<bool> who
    )
        : format(how), shards(std::move(who)), builder(stream, epoch, how) {}
};

store::event_view view_of(const store::store_observer::committed_append& append, std::size_t i) {
    const store::new_event& event = append.events[i];
    store::event_view view;
    view.offset = append.first + static_cast<offset_t>(i);
    view.created_at = append.created_at;
    view.payload = event.payload;
    if (event.key) view.key = *event.key;
    view.content_type = append.content_type;
    view.is_snapshot = event.is_snapshot;
    return view;
}

/// Collects what each shard is to get from one commit.
class commit_encoder {
public:
    explicit commit_encoder(std::size_t shards) : deliveries_(shards) {}

    std::vector<encoding_run>* runs_of(std::string_view stream) {
        const auto at = runs_.find(stream);
        return at == runs_.end() ? nullptr : &at->second;
    }

    std::vector<encoding_run>& begin(std::string_view stream) {
        return runs_.try_emplace(std::string{stream}).first->second;
    }

    void
    add(const store::store_observer::committed_append& append, std::vector<encoding_run>& runs) {
        for (encoding_run& run : runs) {
            for (std::size_t i = 0; i < append.events.size(); ++i) {
                run.builder.add(view_of(append, i));
                if (run.builder.bytes() >= block_bytes_max) finish(append.stream, run);
            }
        }
    }

    std::vector<std::vector<delivery>> finish_all() {
        for (auto& [stream, runs] : runs_)
            for (encoding_run& run : runs)
                finish(stream, run);
        return std::move(deliveries_);
    }

private:
    void finish(std::string_view stream, encoding_run& run) {
        if (run.builder.size() == 0) return;
        const block_ptr block = run.builder.finish(noticed_at_);
        for (std::size_t shard = 0; shard < deliveries_.size(); ++shard)
            if (run.shards[shard])
                deliveries_[shard].push_back({std::string{stream}, run.format, block});
    }

    std::chrono::steady_clock::time_point noticed_at_ = std::chrono::steady_clock::now();
    std::map<std::string, std::vector<encoding_run>, std::less<>> runs_;
    std::vector<std::vector<delivery>> deliveries_;
};

} // namespace

std::size_t fanout::add(hub& shard) {
    const std::lock_guard lock{mutex_};
    shards_.push_back(&shard);
    return shards_.size() - 1;
}

void fanout::close() {
    const std::lock_guard lock{mutex_};
    shards_.clear();
    followed_.clear();
}

void fanout::follow(std::size_t shard, const std::string& stream, wire_format format) {
    const std::lock_guard lock{mutex_};
    std::vector<followed>& formats = followed_[stream];
    auto at = std::find_if(formats.begin(), formats.end(), [&](const followed& one) {
        return one.format == format;
    });
    if (at == formats.end()) {
        formats.push_back({format, std::vector<bool>(shards_.size(), false)});
        at = std::prev(formats.end());
    }
    at->shards[shard] = true;
}

void fanout::forget(std::size_t shard, const std::string& stream, wire_format format) {
    const std::lock_guard lock{mutex_};
    const auto of_stream = followed_.find(stream);
    if (of_stream == followed_.end()) return;
    std::erase_if(of_stream->second, [&](followed& one) {
        if (one.format == format) one.shards[shard] = false;
        return std::none_of(one.shards.begin(), one.shards.end(), [](bool follows) {
            return follows;
        });
    });
    if (of_stream->second.empty()) followed_.erase(of_stream);
}

std::vector<fanout::followed> fanout::followers_of(std::string_view stream) {
    const std::lock_guard lock{mutex_};
    const auto at = followed_.find(stream);
    return at == followed_.end() ? std::vector<followed>{} : at->second;
}

std::vector<hub*> fanout::shards() {
    const std::lock_guard lock{mutex_};
    return shards_;
}

void fanout::committed(std::span<const committed_append> appends) noexcept {
    const std::vector<hub*> shards = this->shards();
    commit_encoder encoder{shards.size()};
    for (const committed_append& append : appends) {
        std::vector<encoding_run>* runs = encoder.runs_of(append.stream);
        if (runs == nullptr) {
            runs = &encoder.begin(append.stream);
            for (followed& one : followers_of(append.stream))
                if (one.shards.size() == shards.size())
                    runs->emplace_back(
                        append.stream, append.epoch, one.format, std::move(one.shards)
                    );
        }
        encoder.add(append, *runs);
    }
    std::vector<std::vector<delivery>> deliveries = encoder.finish_all();
    const std::lock_guard lock{mutex_};
    if (shards_.empty()) return; // Closed meanwhile: their loops may be gone.
    for (std::size_t i = 0; i < shards.size(); ++i) {
        if (deliveries[i].empty()) continue;
        boost::asio::post(
            shards[i]->shard_turn().loop(),
            [shard = shards[i], blocks = std::move(deliveries[i])] {
                for (const delivery& one : blocks)
                    shard->take_block(one.stream, one.format, one.block);
            }
        );
    }
}

void fanout::grown(std::vector<grown_stream> streams) noexcept {
    std::erase_if(streams, [this](const grown_stream& one) {
        return followers_of(one.stream).empty();
    });
    if (streams.empty()) return;
    const auto hints = std::make_shared<const std::vector<grown_stream>>(std::move(streams));
    const std::lock_guard lock{mutex_}; // A shard's loop lives as long as it is in the list.
    for (hub* const shard : shards_) {
        boost::asio::post(shard->shard_turn().loop(), [shard, hints] {
            for (const grown_stream& one : *hints)
                shard->take_hint(one.stream, one.head);
        });
    }
}

void fanout::look_at_all() noexcept {
    const std::lock_guard lock{mutex_};
    for (hub* const shard : shards_)
        boost::asio::post(shard->shard_turn().loop(), [shard] { shard->look_at_all(); });
}

void fanout::trimmed(const std::string& stream, offset_t horizon) {
    const std::lock_guard lock{mutex_};
    for (hub* const shard : shards_) {
        boost::asio::post(shard->shard_turn().loop(), [shard, stream, horizon] {
            shard->take_horizon(stream, horizon);
        });
    }
}

void fanout::trouble(boost::system::error_code code, std::string_view what) noexcept {
    on_trouble_(code, what);
}

} // namespace streamld
