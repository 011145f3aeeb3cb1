#pragma once
// What of Beast's HTTP half is used. Kept to .cpp files and this folder, since it costs seconds a
// file to compile.

#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>
