#!/usr/bin/env bash
# Loads `meno serve` with real sentences and prints a Markdown table: requests a second, latencies, errors, memory; beside
# it the engine without a server, and Python servers around a network of the same size: PyTorch, and ONNX Runtime in batches.
#
#   scripts/bench_server.sh [--seconds N | --minutes N] [--connections N] [--model FILE] [--no-peer]
#
# MENO_DATA         folder that holds snips/                  (default ../shared/data beside the project)
# MENO_PEERS_VENV   Python environment of the peer            (default target/venv-peers; made when missing)
# PYTHON            the Python that makes it                  (default python3)
#
# Needs wrk (Debian's package is installed if it is missing and the user is root). Client and server share all cores. Run it
# on an otherwise idle machine. Without --model the default tagger is trained on Snips once and kept in target/bench.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"

seconds=30 connections=64 model='' peer=yes
while [ $# -gt 0 ]; do
  case $1 in
    --seconds) seconds=$2; shift 2 ;;
    --minutes) seconds=$((60 * $2)); shift 2 ;;
    --connections) connections=$2; shift 2 ;;
    --model) model=$2; shift 2 ;;
    --no-peer) peer=no; shift ;;
    *) sed -n '2,13p' "$0" >&2; exit 2 ;;
  esac
done

data=${MENO_DATA:-$root/../shared/data}/snips
[ -d "$data" ] || { echo "error: no data at $data" >&2; echo "hint: set MENO_DATA to the folder that holds snips/" >&2; exit 2; }
if ! command -v wrk >/dev/null; then
  [ "$(id -u)" = 0 ] || { echo "error: wrk is not installed" >&2; echo "hint: apt-get install wrk" >&2; exit 2; }
  { apt-get update -q && apt-get install -q -y wrk; } >&2
fi

target=${CARGO_TARGET_DIR:-$root/target}
meno=$target/release/meno
cargo build --quiet --release --bin meno >&2
mkdir -p target/bench
if [ -z "$model" ]; then
  model=target/bench/snips.meno
  [ -f "$model" ] || "$meno" train "$data" --output "$model" >&2
fi

MENO_SENTENCES=$data/test/seq.in
export MENO_SENTENCES
port=18080
running=''
trap '[ -z "$running" ] || kill $running 2>/dev/null || true' EXIT

wait_for() {
  for _ in $(seq 300); do
    if curl -sf -o /dev/null -H 'Content-Type: application/json' -d '{"text": "play"}' "http://127.0.0.1:$1/v1/annotate"; then return; fi
    sleep 0.2
  done
  echo "error: nothing answers on port $1" >&2
  exit 1
}

# Resident memory in MB of a process and its children.
memory() {
  local pid sum=0 size
  for pid in "$1" $(pgrep -P "$1" || true); do
    size=$(awk '/^VmRSS:/ { print $2 }' "/proc/$pid/status" 2>/dev/null || echo 0)
    sum=$((sum + size))
  done
  awk -v kb="$sum" 'BEGIN { printf "%.1f", kb / 1024 }'
}

# What wrk measured: requests a second, p50, p99, requests, errors.
load() {
  wrk -t2 -c"$connections" -d"$2"s --timeout 10s -s scripts/server/annotate.lua "http://127.0.0.1:$1" | sed -n 's/^RESULT //p'
}

# Utterances a second without a server: the same sentences, a hundred times.
alone() {
  local many start end
  many=$(mktemp)
  for _ in $(seq 100); do cat "$MENO_SENTENCES"; done >"$many"
  start=$(date +%s.%N)
  "$meno" tag "$model" --json --threads "$(nproc)" "$many" >/dev/null
  end=$(date +%s.%N)
  awk -v n="$(wc -l <"$many")" -v s="$start" -v e="$end" 'BEGIN { printf "%.0f", n / (e - s) }'
  rm -f "$many"
}

# Seconds of processor time that a process has used.
processor_time() { awk -v hz="$(getconf CLK_TCK)" '{ sub(/.*\) /, ""); print ($12 + $13) / hz }' "/proc/$1/stat"; }

row() { printf '| %s | %s | %s | %s | %s | %s | %s → %s |\n' "$@"; }

printf '%s connections, %s s, Snips test sentences, one a request; %s, %s cores shared with the client\n\n' \
  "$connections" "$seconds" "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1)" "$(nproc)"
echo '| server | requests/s | p50 ms | p99 ms | requests | errors | memory MB |'
echo '|---|---:|---:|---:|---:|---:|---:|'

before_load=$(alone)
"$meno" serve "$model" --listen "127.0.0.1:$port" 2>/dev/null &
running=$!
wait_for $port
load $port 3 >/dev/null
before=$(memory $running)
used=$(processor_time $running)
read -r rate p50 p99 n errors < <(load $port "$seconds")
cores=$(processor_time $running | awk -v u="$used" -v s="$seconds" '{ printf "%.2f", ($1 - u) / s }')
row '`meno serve`' "$rate" "$p50" "$p99" "$n" "$errors" "$before" "$(memory $running)"
kill $running
wait $running || { echo "error: the server did not end well" >&2; exit 1; }
running=''

# A minute of a peer is enough. Arguments: what it is called, then those of peer.py.
peer_row() {
  local name=$1 rate p50 p99 n errors before
  shift
  "$venv/bin/python" scripts/server/peer.py --port $((port + 1)) --train "$data/train" "$@" &
  running=$!
  wait_for $((port + 1))
  load $((port + 1)) 3 >/dev/null
  before=$(memory $running)
  read -r rate p50 p99 n errors < <(load $((port + 1)) $((seconds < 60 ? seconds : 60)))
  row "$name" "$rate" "$p50" "$p99" "$n" "$errors" "$before" "$(memory $running)"
  kill $running
  wait $running 2>/dev/null || true
  running=''
  peer_rates+=("$rate")
}

peer_rates=()
if [ "$peer" = yes ]; then
  venv=${MENO_PEERS_VENV:-$root/target/venv-peers}
  [ -x "$venv/bin/python" ] || "${PYTHON:-python3}" -m venv "$venv"
  "$venv/bin/python" -c 'import aiohttp, onnxruntime, torch' 2>/dev/null \
    || "$venv/bin/python" -m pip install --quiet -r scripts/peers/requirements.txt aiohttp==3.14.5 >&2
  peer_row 'aiohttp, PyTorch'
  peer_row 'aiohttp, ONNX Runtime in batches' --batched
  batched=$("$venv/bin/python" scripts/server/peer.py --alone "$MENO_SENTENCES" --train "$data/train")
fi

after=$(alone)
engine=$(((before_load + after) / 2))
printf '\nThe engine alone (`meno tag --threads %s`, before and after): %s and %s utterances/s. The server had %s of the %s cores, and answers %s %% of what the engine alone would with them' \
  "$(nproc)" "$before_load" "$after" "$cores" "$(nproc)" \
  "$(awk -v r="$rate" -v a="$engine" -v c="$cores" -v n="$(nproc)" 'BEGIN { printf "%.0f", 100 * r * n / (a * c) }')"
times() { awk -v a="$rate" -v b="$1" 'BEGIN { printf "%.1f", a / b }'; }
if [ "$peer" = yes ]; then
  printf ', and %s and %s times as many requests as the Python servers. ONNX Runtime alone, in batches: %s utterances/s' \
    "$(times "${peer_rates[0]}")" "$(times "${peer_rates[1]}")" "$batched"
fi
echo .
