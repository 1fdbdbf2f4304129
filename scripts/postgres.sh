#!/usr/bin/env bash
# A private PostgreSQL server for tests, in a folder of its own, reached by a Unix socket there and, if so wished, by a port of
# this machine.
#
#   scripts/postgres.sh start DIR [PID [PORT]]   makes the server if need be, starts it, and prints its address; with PID it
#                                         is stopped and removed when that process ends; with PORT it is on 127.0.0.1 too
#   scripts/postgres.sh tls DIR CERT KEY  turns on TLS with a certificate and its key, or another certificate
#   scripts/postgres.sh kill DIR          ends it as a power cut would
#   scripts/postgres.sh signal DIR NAME   sends a signal to it and to all that it started: STOP makes it silent, CONT wakes it
#   scripts/postgres.sh copy DIR FROM TO  makes the database TO as pg_dump and psql copy FROM, whoever writes to that
#   scripts/postgres.sh stop DIR          ends it and removes the folder
#
# Debian's package is installed if there is no server and the user is root. Exit code 3: no server can be had, and the
# reason on standard error.
set -euo pipefail

command=${1:?start, tls, kill, signal, copy or stop}
dir=${2:?a folder}

unavailable() { echo "no PostgreSQL: $*" >&2; exit 3; }

find_server() {
  local found
  found=$(ls -d /usr/lib/postgresql/*/bin /usr/local/pgsql/bin 2>/dev/null | sort -V | tail -1)
  if [ -n "$found" ] && [ -x "$found/initdb" ]; then echo "$found"; return; fi
  found=$(command -v initdb || true)
  if [ -n "$found" ]; then dirname "$found"; fi
}

bin=$(find_server)
if [ -z "$bin" ] && [ "$command" = start ]; then
  [ "$(id -u)" = 0 ] || unavailable "it is not installed, and only root can install it"
  command -v apt-get >/dev/null || unavailable "it is not installed, and there is no apt-get"
  { apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends postgresql; } \
    >&2 || unavailable "apt-get could not install it"
  bin=$(find_server)
  [ -n "$bin" ] || unavailable "it was installed, but its programs were not found"
fi

# The server refuses to run as root.
run() {
  if [ "$(id -u)" = 0 ]; then (cd / && runuser -u postgres -- "$@"); else "$@"; fi
}

case $command in
  start)
    mkdir -p "$dir"
    dir=$(cd "$dir" && pwd)
    if [ "$(id -u)" = 0 ]; then
      id postgres >/dev/null 2>&1 || unavailable "there is no user postgres to run it as"
      chown postgres "$dir"
    fi
    if [ ! -d "$dir/data" ]; then
      run "$bin/initdb" -D "$dir/data" -U meno --auth=trust -E UTF8 --locale=C >"$dir.log" 2>&1 \
        || { cat "$dir.log" >&2; unavailable "initdb failed"; }
      rm -f "$dir.log"
    fi
    port=; [ -z "${4:-}" ] || port="-c listen_addresses=127.0.0.1 -c port=$4"
    run "$bin/pg_ctl" -D "$dir/data" -l "$dir/log" -w -t 60 \
      -o "-c listen_addresses='' -c unix_socket_directories='$dir' -c max_connections=50 $port" start >/dev/null 2>&1 \
      || { cat "$dir/log" >&2; unavailable "the server did not start"; }
    if [ -n "${3:-}" ]; then
      script=$(cd "$(dirname "$0")" && pwd)/postgres.sh
      (while kill -0 "$3" 2>/dev/null; do sleep 0.5; done; "$script" stop "$dir") </dev/null >/dev/null 2>&1 &
    fi
    echo "postgres://meno@/postgres?host=$dir${4:+&port=$4}"
    ;;
  tls)
    # It reads its key only if nobody else can.
    for file in server.crt server.key; do
      run sh -c 'umask 077; cat >"$1"' sh "$dir/data/$file" <"$3"
      shift
    done
    grep -q '^ssl = on' "$dir/data/postgresql.conf" || echo 'ssl = on' | run sh -c 'cat >>"$1"' sh "$dir/data/postgresql.conf"
    run "$bin/pg_ctl" -D "$dir/data" reload >/dev/null
    ;;
  kill)
    kill -9 "$(head -1 "$dir/data/postmaster.pid")"
    # Its children go with it, but not at once, and a new server waits for them.
    while run "$bin/pg_ctl" -D "$dir/data" status >/dev/null 2>&1; do sleep 0.05; done
    ;;
  signal)
    server=$(head -1 "$dir/data/postmaster.pid")
    kill "-${3:?a signal}" "$server" $(pgrep -P "$server")
    ;;
  copy)
    run "$bin/createdb" --host "$dir" --username meno "${4:?a new database}"
    run "$bin/pg_dump" --host "$dir" --username meno "$3" | run "$bin/psql" --quiet --set ON_ERROR_STOP=1 --host "$dir" --username meno "$4" >/dev/null
    ;;
  stop)
    [ ! -d "$dir/data" ] || run "$bin/pg_ctl" -D "$dir/data" -m immediate stop >/dev/null 2>&1 || true
    rm -rf "$dir"
    ;;
  *)
    echo "start, tls, kill, signal, copy or stop, not $command" >&2
    exit 2
    ;;
esac
