#!/usr/bin/env bash
# Meno beside a CRF with logistic regression, on the same splits and in the same run.
#
#   scripts/corpora.sh DIR...     each a folder with train, valid and test, which have seq.in, seq.out and label
#
# Installs what the peer needs into target/venv-peers. Prints the table of `meno experiment corpora`.
set -euo pipefail
[ $# -gt 0 ] || { echo "usage: scripts/corpora.sh DIR..." >&2; exit 2; }
root=$(cd "$(dirname "$0")/.." && pwd)
target=${CARGO_TARGET_DIR:-$root/target}
venv=$target/venv-peers
[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
"$venv/bin/pip" install --quiet python-crfsuite==0.9.12 scikit-learn==1.9.1 seqeval==1.2.2
(cd "$root" && cargo build --quiet --release --locked --bin meno)

peers=$(mktemp)
trap 'rm -f "$peers"' EXIT
for dir in "$@"; do
  echo "CRF on $dir" >&2
  "$venv/bin/python" "$root/scripts/peers/crf.py" "$dir" >>"$peers"
done
"$target/release/meno" experiment corpora "$@" --peers "$peers"
