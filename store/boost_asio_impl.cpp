// Asio's own code, compiled once for the whole project (BOOST_ASIO_SEPARATE_COMPILATION).
// It lives in the lowest library because the store uses Asio without the gateway.
#include <boost/asio/impl/src.hpp>
