// The one definition of main() shared by every Boost.Test program.
#define BOOST_TEST_MODULE streamld
#include <boost/test/unit_test.hpp>
