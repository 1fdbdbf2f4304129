#!/bin/sh
# Measures what one caller notices of others who are silent or who flood the server, and prints JSON (scripts/server/fair.py). Fails where
# one in a hundred of its requests takes 50 ms or more while another floods.
#
#   scripts/bench_fair.sh MENO [SECONDS [MODEL]]     MENO is the program; each part takes SECONDS, 20 by default
#
# Client and server share all cores of this machine. Run it on an otherwise idle one.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
[ $# -ge 1 ] || { sed -n '2,6p' "$0" >&2; exit 2; }
[ -x "$1" ] || { echo "error: no program at $1" >&2; echo "hint: cargo build --release --bin meno makes target/release/meno" >&2; exit 2; }
exec python3 "$root/scripts/server/fair.py" "$1" "${2:-20}" "${3:-$root/crates/meno/tests/models/span_tagger-1.meno}"
