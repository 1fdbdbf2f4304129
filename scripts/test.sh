#!/usr/bin/env bash
# Everything that must hold: formatting, lints, licences, tests, doc tests, the examples. Needs a Rust toolchain and Python; installs
# the rest.
#
#   scripts/test.sh           all of it
#   scripts/test.sh --fast    for work: formatting, lints, unit tests and the contract, which take less than two minutes once built
#
# The data of the experiments is looked for in $MENO_DATA, else in ../shared/data; MiniLM in $MENO_MINILM, else it is fetched. What the machine
# lacks, this data or PostgreSQL or a browser, leaves tests out, which say so; where CI is true they fail.
set -euo pipefail
cd "$(dirname "$0")/.."

case "${1:-}" in
  "") fast= ;;
  --fast) fast=1 ;;
  *) echo "usage: scripts/test.sh [--fast]" >&2; exit 2 ;;
esac

step() { printf '\n== %s\n' "$*"; }

left_out() {
  printf '\n!! left out: %s\n' "$*"
  if [ "${CI:-}" = true ]; then
    echo "error: nothing may be left out where CI is true" >&2
    exit 1
  fi
}

for component in rustfmt clippy; do
  cargo "${component/rustfmt/fmt}" --version >/dev/null 2>&1 || rustup component add "$component"
done

step "formatting"
cargo fmt --all --check

step "lints"
cargo clippy --workspace --all-targets --locked -- -D warnings

if [ -n "$fast" ]; then
  step "unit tests"
  cargo test --workspace --lib --bins --locked
  step "the contract"
  cargo test --workspace --test contract --locked
  printf '\nall fast checks passed\n'
  exit
fi

if [ -z "${MENO_DATA:-}" ] && [ -d ../shared/data ]; then
  MENO_DATA=$(cd ../shared/data && pwd)
  export MENO_DATA
fi
[ -n "${MENO_DATA:-}" ] || left_out "tests on ATIS and Snips, because neither \$MENO_DATA nor ../shared/data is there"

step "licences, sources, duplicates"
# Not optimised: so it is built in a minute.
tools=$(realpath -m "${CARGO_TARGET_DIR:-target}/tools")
export PATH=$tools/bin:$PATH
cargo deny --version >/dev/null 2>&1 || cargo install cargo-deny --version 0.20.2 --locked --debug --quiet --root "$tools"
cargo deny --locked check licenses sources bans
# Known vulnerabilities: by a database that is not part of the tree.
if [ -d "${CARGO_HOME:-$HOME/.cargo}/advisory-dbs" ]; then
  step "known vulnerabilities"
  cargo deny --locked check advisories
fi

step "documentation"
RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --document-private-items --locked --quiet

if ! postgres=$(scripts/postgres.sh start "${TMPDIR:-/tmp}/meno-pg-test-$$" 2>&1); then
  left_out "all tests on PostgreSQL, because there is $postgres"
fi
scripts/postgres.sh stop "${TMPDIR:-/tmp}/meno-pg-test-$$"

step "a pretrained encoder"
if [ -z "${MENO_MINILM:-}" ] && ! scripts/get_minilm.sh target/minilm; then
  left_out "tests on MiniLM, because it cannot be fetched"
fi

step "tests"
cargo test --workspace --locked

step "the files that run a server"
scripts/deploy_test.sh "${CARGO_TARGET_DIR:-target}/debug/meno"

step "without training, corpora and the data for English"
cargo clippy -p meno --lib --no-default-features --locked -- -D warnings
cargo test -p meno --no-default-features --test embedded --locked

step "packages"
scripts/check_packages.py

if [ -n "${MENO_DATA:-}" ]; then
  step "the data of the syntax model"
  scripts/check_syntax_data.py "$MENO_DATA"
fi

step "malformed requests"
scripts/fuzz_server.sh 1000

step "everything goes wrong at once"
scripts/chaos.sh 120 1 "${CARGO_TARGET_DIR:-target}/debug/meno"

step "the playground in a browser"
scripts/browser_test.sh

step "a conversation on a terminal"
cargo build --release --locked --quiet
scripts/terminal_test.py "${CARGO_TARGET_DIR:-target}/release/meno"

step "single requests while another floods"
scripts/bench_fair.sh "${CARGO_TARGET_DIR:-target}/release/meno" 4

step "demo"
cargo run --release --locked --quiet -- demo </dev/null

step "a tagger made elsewhere"
examples/crfsuite/run.sh

step "ONNX"
scripts/onnx_test.sh

printf '\nall checks passed\n'
