#pragma once
// The connections of one shard, so that a drain can reach them. Single thread; outlives every
// session. After the hand-over to WebSocket a connection is empty and hears nothing from here: the
// hub's end closes those.

#include "net/http_connection.hpp"

#include <boost/intrusive/list.hpp>

#include <cstddef>

namespace streamld::api {

class open_connections {
    using hook = boost::intrusive::list_base_hook<
        boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;

public:
    /// A session's place in the list, for its life.
    class seat : public hook {
    public:
        seat(open_connections& owner, net::http_connection& connection) : connection_(connection) {
            owner.seats_.push_back(*this);
        }

        seat(const seat&) = delete;
        seat& operator=(const seat&) = delete;

    private:
        friend class open_connections;
        net::http_connection& connection_;
    };

    /// Idle connections close now, busy ones behind their answer. Whoever comes later gets one
    /// answer (mostly 503) and `Connection: close` from the session.
    void begin_drain() {
        for (auto& each : seats_)
            each.connection_.begin_drain();
    }

    /// Ends everything at once.
    void abort_all() {
        for (auto& each : seats_)
            each.connection_.abort();
    }

private:
    boost::intrusive::list<seat, boost::intrusive::constant_time_size<false>> seats_;
};

} // namespace streamld::api
