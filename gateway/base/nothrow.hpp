#pragma once
// The completion token of socket and timer operations: `auto [ec, n] = co_await op(nothrow);`. Look
// at ec on the next line.

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace streamld {

inline constexpr auto nothrow = boost::asio::as_tuple(boost::asio::use_awaitable);

} // namespace streamld
