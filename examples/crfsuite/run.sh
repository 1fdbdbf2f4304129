#!/usr/bin/env bash
# Unknown words for a tagger that is not meno's: a CRF by python-crfsuite, trained on data/concepts.
#
#   examples/crfsuite/run.sh [OUT]
#
# OUT      where marginals and answers are left    (default: a temporary folder, removed at the end)
# BUDGET   the points of F1 that may be lost       (default 1)
# MENO     the meno to be run                      (default: built from this repository)
# PYTHON   the Python that makes the environment   (default python3)
set -euo pipefail
example=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$example/../.." && pwd)
python=${PYTHON:-python3}

temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT
out=${1:-$temporary/out}
mkdir -p "$out"

if ! "$python" -c 'import ensurepip' 2>/dev/null; then
  if ! command -v apt-get >/dev/null || [ "$(id -u)" != 0 ]; then
    echo "error: $python cannot make an environment of its own" >&2
    echo "hint: install python3-venv, or set PYTHON to a Python that has ensurepip" >&2
    exit 2
  fi
  apt-get install --quiet --yes python3 python3-venv >&2
fi
"$python" -m venv "$temporary/venv"
"$temporary/venv/bin/python" -m pip install --quiet --disable-pip-version-check -r "$example/requirements.txt"

meno=${MENO:-}
if [ -z "$meno" ]; then
  (cd "$root" && cargo build --release --locked --quiet --bin meno)
  meno=${CARGO_TARGET_DIR:-$root/target}/release/meno
fi

"$temporary/venv/bin/python" "$example/marginals.py" "$root/data/concepts" "$out"
"$meno" logits fit "$out/valid.jsonl" --probabilities --score confidence --budget "${BUDGET:-1}" -o "$out/calibration.json"
for set in valid test new; do
  "$meno" logits tag "$out/calibration.json" "$out/$set.jsonl" >"$out/$set.tagged.jsonl"
done
"$python" "$example/judge.py" "$root/data/concepts" "$out"
