#!/bin/sh
# Measures meno against PyTorch and ONNX Runtime on this machine and prints a Markdown table.
#
#   scripts/bench_peers.sh [--quick] [--json FILE]      (more options: --help)
#
# MENO_DATA         folder that holds atis/ and snips/        (default ../shared/data beside the project)
# MENO_PEERS_VENV   Python environment of the peers           (default target/venv-peers; made when missing)
# PYTHON            the Python that makes it                  (default python3)
#
# Run it on an otherwise idle machine: both systems take turns, but noise still widens the ratios.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)

data=${MENO_DATA:-$root/../shared/data}
venv=${MENO_PEERS_VENV:-$root/target/venv-peers}

if [ ! -d "$data" ]; then
    echo "error: no data at $data" >&2
    echo "hint: set MENO_DATA to the folder that holds atis/ and snips/" >&2
    exit 2
fi
if [ ! -x "$venv/bin/python" ]; then
    "${PYTHON:-python3}" -m venv "$venv"
fi
if ! "$venv/bin/python" -c 'import numpy, onnx, onnxruntime, torch' 2>/dev/null; then
    "$venv/bin/python" -m pip install --quiet -r "$root/scripts/peers/requirements.txt"
fi

case " $* " in
*" --peers-only "* | *" --help "* | *" -h "*) ;;
*)
    (
        cd "$root"
        cargo build --quiet --release --bin meno >&2
        cargo bench --quiet -p meno --bench speed --no-run >&2
    )
    ;;
esac

exec "$venv/bin/python" "$root/scripts/peers/compare.py" --data "$data" "$@"
