#!/usr/bin/env bash
# Checks `meno export` and `meno wrap` against ONNX and ONNX Runtime: graphs that onnx.checker passes, the same labels on ATIS and
# Snips, the same logits, and every command on a tagger that was wrapped.
#
#   scripts/onnx_test.sh
#
# MENO             the meno to be run                     (default: built from this repository)
# MENO_DATA        the folder with atis/ and snips/       (default ../shared/data; where it is not, data/concepts alone is used)
# MENO_ONNX_VENV   Python environment with ONNX Runtime   (default target/venv-onnx; made when missing)
# PYTHON           the Python that makes it               (default python3)
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"
data=${MENO_DATA:-$root/../shared/data}

venv=${MENO_ONNX_VENV:-$root/target/venv-onnx}
[ -x "$venv/bin/python" ] || "${PYTHON:-python3}" -m venv "$venv"
"$venv/bin/python" -c 'import numpy, onnx, onnxruntime' 2>/dev/null \
  || "$venv/bin/python" -m pip install --quiet -r examples/onnx/requirements.txt >&2

meno=${MENO:-}
if [ -z "$meno" ]; then
  cargo build --quiet --release --bin meno >&2
  meno=${CARGO_TARGET_DIR:-$root/target}/release/meno
fi
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# As few steps as make a tagger that finds something: whether both run the same network does not depend on how good it is.
# The corpus that ships is small enough for a second opinion on intents.
check() {
  local corpus=$1 name=$2 model
  shift 2
  model=$dir/$(basename "$corpus")-$name
  "$meno" train "$corpus" "$@" --epochs 1 -o "$model.meno" >"$dir/log" 2>&1 || { cat "$dir/log" >&2; exit 1; }
  "$meno" export "$model.meno" --onnx "$model" 2>/dev/null
  "$meno" tag "$model.meno" "$corpus/test/seq.in" --words --json >"$model.jsonl"
  "$venv/bin/python" scripts/onnx_test.py exported "$model" "$model.jsonl"
}

corpora=("$root/data/concepts")
for name in atis snips; do
  if [ -d "$data/$name" ]; then corpora+=("$data/$name"); else echo "!! left out: $name, because there is no $data/$name"; fi
done
for width in 0 32; do
  printf '[span_tagger]\nspan_scores = %s\n' $width >"$dir/span-scores-$width.toml"
done
for corpus in "${corpora[@]}"; do
  for form in span-scores-0 span-scores-32; do
    check "$corpus" $form --architecture span-tagger --config "$dir/$form.toml"
  done
  check "$corpus" slot-gated --architecture slot-gated
done
"$venv/bin/python" scripts/onnx_test.py wrapped "$meno" crates/meno/tests/onnx "$dir"
