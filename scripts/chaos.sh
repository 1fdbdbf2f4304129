#!/usr/bin/env bash
# Everything that can go wrong with servers, all at once, and what must hold whatever happens (scripts/server/chaos.py).
#
#   scripts/chaos.sh [SECONDS [SEED [MENO]]]     600 seconds by default; MENO is a program with PostgreSQL, else one is built
#
# Installs libfaketime and PostgreSQL with apt-get if it may; what cannot be had is left out, which is said.
set -euo pipefail
cd "$(dirname "$0")/.."

if ! ls /usr/lib/*/faketime/libfaketimeMT.so.1 >/dev/null 2>&1 && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  { apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends libfaketime; } >/dev/null 2>&1 || true
fi
probe=$(mktemp -d)
chmod 755 "$probe"
postgres=
if scripts/postgres.sh start "$probe/pg" >/dev/null; then postgres=scripts/postgres.sh; fi
scripts/postgres.sh stop "$probe/pg"
rm -rf "$probe"

meno=${3:-}
if [ -z "$meno" ]; then
  cargo build --quiet --release --locked --bin meno --features postgres
  meno=${CARGO_TARGET_DIR:-target}/release/meno
fi
exec python3 scripts/server/chaos.py "$meno" crates/meno/tests/models/span_tagger-1.meno "${1:-600}" "${2:-1}" $postgres
