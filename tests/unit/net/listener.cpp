#include "net/listener.hpp"

#include "support/gateway/shard_loop.hpp"

#include <boost/system/system_error.hpp>
#include <boost/test/unit_test.hpp>

#include <fcntl.h>
#include <list>
#include <sys/resource.h>

namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using streamld::net::claim_endpoint;
using streamld::net::listener;
using streamld::test::shard_loop;

tcp::endpoint any_port() {
    return {asio::ip::address_v4::loopback(), 0};
}

// A listening shard, its accepted sockets, and clients that only connect.
struct listening {
    shard_loop shard;
    tcp::endpoint at = claim_endpoint(any_port());
    listener ears;
    std::list<tcp::socket> accepted;
    std::list<tcp::socket> clients;

    explicit listening(std::size_t connections_max)
        : ears(shard.loop, at, connections_max, shard.counters) {
        shard.children.spawn("listener", ears.run([this](tcp::socket socket) {
            shard.counters.connection_opened();
            accepted.push_back(std::move(socket));
        }));
        shard.settle();
    }

    ~listening() {
        ears.stop();
        shard.until([this] { return shard.children.size() == 0; });
    }

    void connect() { clients.emplace_back(shard.loop).connect(at); }

    bool until_accepted(std::size_t count) {
        return shard.until([&] { return accepted.size() >= count; });
    }
};

// Leaves no free file descriptor while it lives.
class no_descriptors {
public:
    no_descriptors() {
        ::getrlimit(RLIMIT_NOFILE, &before_);
        const int next = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
        ::close(next);
        rlimit tight{static_cast<rlim_t>(next), before_.rlim_max};
        ::setrlimit(RLIMIT_NOFILE, &tight);
    }

    ~no_descriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }

private:
    rlimit before_{};
};

} // namespace

BOOST_AUTO_TEST_SUITE(net_listener)

BOOST_AUTO_TEST_CASE(a_claimed_port_is_real_and_shared_by_shards) {
    shard_loop shard;
    const auto at = claim_endpoint(any_port());
    BOOST_TEST(at.port() != 0);

    listener first{shard.loop, at, 10, shard.counters};
    listener second{shard.loop, at, 10, shard.counters};

    BOOST_TEST(second.local_endpoint().port() == at.port());
}

BOOST_AUTO_TEST_CASE(a_port_that_somebody_shares_is_refused_all_the_same) {
    shard_loop shard;
    const auto at = claim_endpoint(any_port());
    listener other{shard.loop, at, 10, shard.counters};

    BOOST_CHECK_THROW(claim_endpoint(at), boost::system::system_error);
}

BOOST_AUTO_TEST_CASE(connections_are_handed_over) {
    listening it{10};

    it.connect();
    it.connect();

    BOOST_TEST(it.until_accepted(2));
    const auto flags = ::fcntl(it.accepted.front().native_handle(), F_GETFD);
    BOOST_TEST((flags & FD_CLOEXEC) != 0);
}

BOOST_AUTO_TEST_CASE(over_the_limit_they_wait_in_the_backlog) {
    listening it{1};
    it.connect();
    it.connect();
    BOOST_TEST(it.until_accepted(1));
    for (int i = 0; i < 10; ++i) {
        it.shard.settle();
    }
    BOOST_TEST(it.accepted.size() == 1U);

    it.shard.counters.connection_closed();

    BOOST_TEST(it.until_accepted(2));
}

BOOST_AUTO_TEST_CASE(without_descriptors_it_backs_off_and_recovers) {
    listening it{10};
    it.connect();
    BOOST_TEST(it.until_accepted(1));
    it.clients.emplace_back(it.shard.loop).open(tcp::v4());
    {
        no_descriptors now;
        it.clients.back().connect(it.at);
        BOOST_TEST(it.shard.until([&] { return it.shard.counters.accepts_failed.value() > 0; }));
        // Backing off, it does not turn in circles.
        const auto failed = it.shard.counters.accepts_failed.value();
        for (int i = 0; i < 20; ++i) {
            it.shard.settle();
        }
        BOOST_TEST(it.shard.counters.accepts_failed.value() <= failed + 1);
    }

    BOOST_TEST(it.until_accepted(2));
}

BOOST_AUTO_TEST_CASE(stop_ends_it) {
    listening it{10};

    it.ears.stop();

    BOOST_TEST(it.shard.until([&] { return it.shard.children.size() == 0; }));
}

BOOST_AUTO_TEST_CASE(a_handler_that_throws_costs_one_connection) {
    shard_loop shard;
    const auto at = claim_endpoint(any_port());
    listener ears{shard.loop, at, 10, shard.counters};
    int calls = 0;
    shard.children.spawn("listener", ears.run([&](tcp::socket) {
        if (++calls == 1) throw std::runtime_error{"out of memory, say"};
    }));
    tcp::socket first{shard.loop};
    tcp::socket second{shard.loop};

    first.connect(at);
    second.connect(at);

    BOOST_TEST(shard.until([&] { return calls == 2; }));
    ears.stop();
    shard.settle();
}

BOOST_AUTO_TEST_SUITE_END()
