#!/usr/bin/env bash
# The Postgres server of a test run. `start` and `stop` are the ctest fixture, `with` runs a program that needs it.
#
#   postgres_server.sh start FILE         starts one server and writes its administrator's URL into FILE
#   postgres_server.sh stop FILE          stops it and removes its data
#   postgres_server.sh with PROGRAM ...   runs PROGRAM; exit code 77 (skipped) if there is no server
#
# FILE.directory names the server's folder, so that a later run finds what an interrupted one left behind. Whoever sets
# STREAMLD_TEST_POSTGRES to the URL of a server of their own gets that one, and none is started.
# STREAMLD_REQUIRE_POSTGRES=1 turns a missing server into a failure.
set -uo pipefail

skipped=77

missing() {
    printf 'streamld: %s\n' "$1: what needs Postgres is NOT tested (./dev setup, or: apt-get install postgresql)" >&2
    [[ ${STREAMLD_REQUIRE_POSTGRES:-} == 1 ]] && exit 1
    exit $skipped
}

binaries() {
    local found
    # Debian keeps the server's programs of each version in a folder of its own, outside of PATH.
    found=$(printf '%s\n' /usr/lib/postgresql/*/bin/initdb | sort -V | tail -n 1)
    [[ -x $found ]] && dirname "$found" && return
    found=$(pg_config --bindir 2>/dev/null)
    [[ -x $found/initdb ]] && printf '%s\n' "$found"
}

# The server refuses to run as root.
as_owner() {
    if ((EUID == 0)); then runuser -u postgres -- "$@"; else "$@"; fi
}

# Ends the server that FILE.directory names, if it is still that one, and removes its folder.
stop() {
    local directory
    directory=$(cat "$1.directory" 2>/dev/null)
    rm -f "$1" "$1.directory"
    [[ -n $directory && -f $directory/streamld-test-server ]] || return 0
    is_running "$directory" && as_owner "$(binaries)/pg_ctl" -D "$directory/data" -m immediate -w stop >/dev/null
    rm -rf "$directory"
}

# After a restart of the machine the number in the file may be anybody's.
is_running() {
    local pid
    pid=$(head -n 1 "$1/data/postmaster.pid" 2>/dev/null) && [[ $(ps -o args= -p "$pid" 2>/dev/null) == *"$1/data"* ]]
}

initialise() {
    local directory=$1 bin=$2 locale=(--locale=C.UTF-8)
    # A default order of texts that is not that of bytes shows a forgotten COLLATE "C".
    [[ $("$bin/initdb" --help) == *--icu-locale* ]] && locale+=(--locale-provider=icu --icu-locale=en)
    as_owner "$bin/initdb" -D "$directory/data" -U postgres -A trust -E UTF8 -N "${locale[@]}" >"$directory/initdb.log" 2>&1 || {
        cat "$directory/initdb.log" >&2
        return 1
    }
    cat >>"$directory/data/postgresql.conf" <<END
listen_addresses = '127.0.0.1'
unix_socket_directories = '$directory'
max_connections = 300
wal_level = replica
max_wal_size = 2GB
shared_buffers = 128MB
# Nothing here outlives the run. What must survive a crash is tried on servers of its own.
fsync = off
autovacuum_naptime = 10s
log_line_prefix = '%m [%p] %a '
log_min_messages = warning
END
}

# A port is free when the server could take it: other ways to ask are out of date before it starts.
start_on_free_port() {
    local directory=$1 bin=$2 port
    for _ in {1..20}; do
        port=$((20000 + RANDOM % 12000))
        as_owner "$bin/pg_ctl" -D "$directory/data" -l "$directory/server.log" -w -t 60 -o "-p $port" start >/dev/null 2>&1 && {
            printf '%s\n' "$port"
            return
        }
        grep -q 'could not bind' "$directory/server.log" || break
    done
    cat "$directory/server.log" >&2
    return 1
}

start() {
    local file=$1 bin directory port
    stop "$file"
    mkdir -p "$(dirname "$file")"
    if [[ -n ${STREAMLD_TEST_POSTGRES:-} ]]; then
        printf '%s\n' "$STREAMLD_TEST_POSTGRES" >"$file"
        return
    fi
    : >"$file"
    bin=$(binaries) || missing "Postgres is not installed"
    ((EUID != 0)) || id postgres >/dev/null 2>&1 || missing "there is no user postgres to run the server as"
    directory=$(mktemp -d /tmp/streamld-pg-XXXXXX) || exit 1
    printf '%s\n' "$directory" >"$file.directory"
    : >"$directory/streamld-test-server"
    ((EUID == 0)) && chown postgres "$directory"
    cd "$directory" || exit 1 # The server's user may not enter the folder of the caller.
    initialise "$directory" "$bin" && port=$(start_on_free_port "$directory" "$bin") || {
        stop "$file"
        exit 1
    }
    printf 'postgres://postgres@127.0.0.1:%s/postgres\n' "$port" >"$file"
    printf 'Postgres %s on port %s in %s\n' "$("$bin/postgres" --version | grep -oE '[0-9.]+' | head -n 1)" "$port" "$directory"
}

with() {
    [[ -n ${STREAMLD_TEST_POSTGRES:-} || -s ${STREAMLD_TEST_POSTGRES_FILE:-} ]] || missing "there is no Postgres server"
    exec "$@"
}

case ${1:-} in
start | stop)
    file=$(realpath -m "$2")
    "$1" "$file"
    ;;
with) shift && with "$@" ;;
*)
    sed -n '2,6p' "$0" >&2
    exit 2
    ;;
esac
