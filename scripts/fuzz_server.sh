#!/usr/bin/env bash
# Sends malformed requests to `meno serve`: those that schemathesis makes from /openapi.json, and random bytes over sockets.
#
#   scripts/fuzz_server.sh [N]     so many requests in all, 10000 by default
#
# MENO_FUZZ_VENV   Python environment with schemathesis     (default target/venv-fuzz; made when missing)
# PYTHON           the Python that makes it                 (default python3)
#
# Fails if the server ends, if it answers with a status of 500 or above other than 503, or if an answer has not the status, type
# and shape that /openapi.json says.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"
total=${1:-10000}

venv=${MENO_FUZZ_VENV:-$root/target/venv-fuzz}
[ -x "$venv/bin/python" ] || "${PYTHON:-python3}" -m venv "$venv"
[ -x "$venv/bin/schemathesis" ] || "$venv/bin/python" -m pip install --quiet schemathesis==4.32.5 >&2

cargo build --quiet --release --bin meno >&2
meno=${CARGO_TARGET_DIR:-$root/target}/release/meno
dir=$(mktemp -d)
server=''
trap '[ -z "$server" ] || kill $server 2>/dev/null || true; rm -rf "$dir"' EXIT
# Any free port: the server says which.
"$meno" serve crates/meno/tests/models/span_tagger-1.meno --store "$dir/concepts.db" --listen 127.0.0.1:0 --timeout 2 2>"$dir/log" &
server=$!
for _ in $(seq 100); do
  url=$(sed -n 's|^\(http://[^/]*\)/.*|\1|p' "$dir/log" | head -1)
  [ -n "$url" ] && break
  sleep 0.1
done
[ -n "$url" ] || { cat "$dir/log" >&2; exit 1; }

counted() { curl -s "$url/metrics" | awk '/^meno_requests_total/ { sum += $NF } END { print sum + 0 }'; }

raw=$((total / 2))
"$venv/bin/python" scripts/server/random_bytes.py "$url" "$raw"

checks=not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,response_schema_conformance
before=$(counted)
seed=1
while sent=$(($(counted) - before)) && [ "$((sent + raw))" -lt "$total" ]; do
  (cd "$dir" && PYTHONPATH="$root/scripts/server" SCHEMATHESIS_HOOKS=fuzz_hooks "$venv/bin/schemathesis" run "$url/openapi.json" --checks $checks --max-examples 40 --seed $seed \
    --phases coverage,fuzzing --suppress-health-check all --warnings off --no-shrink --request-timeout 10 --no-color) >"$dir/report" \
    || { tail -100 "$dir/report" >&2; exit 1; }
  seed=$((seed + 1))
done

kill -0 $server || { echo "error: the server is gone" >&2; cat "$dir/log" >&2; exit 1; }
failures=$(curl -s "$url/metrics" | awk '/^meno_requests_total/ && /status="5/ && !/status="503"/')
[ -z "$failures" ] || { echo "error: $failures" >&2; cat "$dir/log" >&2; exit 1; }
if grep -q 'mistake in meno' "$dir/log"; then cat "$dir/log" >&2; exit 1; fi
kill $server
wait $server || { echo "error: the server did not end well" >&2; exit 1; }
server=''
echo "$raw connections with random bytes and $sent requests: no crash, no 5xx but 503, every answer as /openapi.json says"
