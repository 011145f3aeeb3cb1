# Turns numbered SQL files into one C++ source. Run by the build:
#   cmake -DENGINE=sqlite "-DSQL_FILES=a;b" -DROLES=file.sql -DOUTPUT=file.cpp -P embed_sql.cmake
# The version of a migration is the number at the start of its file's name; the numbers
# must run 1, 2, 3, ... so that a forgotten or doubled file stops the build. ROLES may be empty.

# Sets <variable> to the text of <file> as a C++ literal.
function(embed variable file)
  file(READ "${file}" sql)
  string(FIND "${sql}" ")sql\"" clash)
  if(NOT clash EQUAL -1)
    message(FATAL_ERROR "${file}: contains the delimiter of the raw string it is embedded in")
  endif()
  set(${variable} "R\"sql(${sql})sql\"" PARENT_SCOPE)
endfunction()

set(entries "")
set(count 0)
list(SORT SQL_FILES)

foreach(file IN LISTS SQL_FILES)
  get_filename_component(name "${file}" NAME)
  math(EXPR count "${count} + 1")
  if(NOT name MATCHES "^0*([1-9][0-9]*)_[a-z0-9_]+\\.sql$")
    message(FATAL_ERROR "${name}: a migration is named like 0001_initial.sql")
  endif()
  set(version "${CMAKE_MATCH_1}")
  if(NOT version EQUAL count)
    message(FATAL_ERROR "${name}: expected migration number ${count}")
  endif()
  embed(literal "${file}")
  string(APPEND entries "    migration{${version}, ${literal}},\n")
endforeach()

set(source "// Generated from store/${ENGINE}/schema by store/embed_sql.cmake.\n")
string(APPEND source "#include \"store/${ENGINE}/migrations.hpp\"\n\n#include <array>\n\n")
string(APPEND source "namespace streamld::store::${ENGINE} {\n\n")
string(APPEND source "namespace {\n\nconst std::array<migration, ${count}> all_migrations{\n${entries}};\n\n}\n\n")
string(APPEND source "std::span<const migration> migrations() {\n    return all_migrations;\n}\n\n")
if(ROLES)
  embed(literal "${ROLES}")
  string(APPEND source "std::string_view roles() {\n    return ${literal};\n}\n\n")
endif()
string(APPEND source "}\n")
file(WRITE "${OUTPUT}" "${source}")
