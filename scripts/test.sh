#!/usr/bin/env bash
# Everything that must hold: formatting, lints, tests, doc tests, the examples. Needs a Rust toolchain and Python; installs
# the rest.
#
# The data of the experiments is looked for in $MENO_DATA, else in ../shared/data. Tests that need it say so and are
# left out where it is not there.
set -euo pipefail
cd "$(dirname "$0")/.."

step() { printf '\n== %s\n' "$*"; }

for component in rustfmt clippy; do
  cargo "${component/rustfmt/fmt}" --version >/dev/null 2>&1 || rustup component add "$component"
done

if [ -z "${MENO_DATA:-}" ] && [ -d ../shared/data ]; then
  MENO_DATA=$(cd ../shared/data && pwd)
  export MENO_DATA
fi
[ -n "${MENO_DATA:-}" ] || echo "left out: tests on ATIS and Snips, because neither \$MENO_DATA nor ../shared/data is there"

step "formatting"
cargo fmt --all --check

step "lints"
cargo clippy --workspace --all-targets --locked -- -D warnings

step "documentation"
RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --document-private-items --locked --quiet

if ! postgres=$(scripts/postgres.sh start "${TMPDIR:-/tmp}/meno-pg-test-$$" 2>&1); then
  printf '\n!! left out: all tests on PostgreSQL, because there is %s\n' "$postgres"
fi
scripts/postgres.sh stop "${TMPDIR:-/tmp}/meno-pg-test-$$"

step "tests"
cargo test --workspace --locked

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
scripts/fuzz_server.sh 1500

step "the playground in a browser"
scripts/browser_test.sh

step "a conversation on a terminal"
cargo build --release --locked --quiet
scripts/terminal_test.py "${CARGO_TARGET_DIR:-target}/release/meno"

step "demo"
cargo run --release --locked --quiet -- demo </dev/null

step "a tagger made elsewhere"
examples/crfsuite/run.sh

printf '\nall checks passed\n'
