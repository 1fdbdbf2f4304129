#!/usr/bin/env bash
# The playground, end to end, in a headless Chromium: builds meno, trains models of the shipped corpus, starts `meno serve`
# and uses the page as a person would (scripts/browser_test.py, browser_page.py). Pictures of it go to target/browser.
#
#   scripts/browser_test.sh [--pictures]     also make the pictures of the README, by a model of data/assistant
#
# Chromium, its driver and Python's venv are installed by apt where the user is root; where they cannot be had the test is left
# out, and fails where CI is true.
set -euo pipefail
cd "$(dirname "$0")/.."

left_out() {
  printf '!! left out: the playground in a browser, because %s\n' "$*"
  if [ "${CI:-}" = true ]; then exit 1; else exit 0; fi
}

has_browser() { command -v chromium >/dev/null && command -v chromedriver >/dev/null; }
if ! has_browser; then
  command -v apt-get >/dev/null || left_out "there is no chromium, no chromedriver, and no apt-get to install them"
  [ "$(id -u)" = 0 ] || left_out "there is no chromium or chromedriver; as root: apt-get install chromium chromium-driver"
  export DEBIAN_FRONTEND=noninteractive
  { apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium chromium-driver fonts-dejavu-core; } \
    >/dev/null 2>&1 || left_out "apt-get could not install chromium and chromium-driver"
  has_browser || left_out "apt-get installed no chromium and chromedriver"
fi

venv=target/browser/venv
if [ ! -x "$venv/bin/python" ]; then
  python3 -m venv "$venv" || left_out "python3 -m venv failed"
fi
# Of the last only the file axe.min.js is used, so it comes without the browser that it depends on.
{ "$venv/bin/pip" install -q selenium==4.51.0 && "$venv/bin/pip" install -q --no-deps axe-playwright-python==0.1.8; } \
  || left_out "selenium or axe-core could not be installed from PyPI"

cargo build --release --locked --quiet -p meno-cli
meno=${CARGO_TARGET_DIR:-target}/release/meno
rm -f target/browser/{concepts,words}.model
"$meno" train data/concepts -o target/browser/concepts.model --seed 1
"$meno" train data/concepts -o target/browser/words.model --seed 1 --architecture slot-gated --epochs 8
pictures=()
if [ "${1:-}" = --pictures ]; then
  shift
  rm -f target/browser/assistant.model
  "$meno" train data/assistant -o target/browser/assistant.model --seed 1
  pictures=(--pictures target/browser/assistant.model docs/pictures)
fi
"$venv/bin/python" scripts/browser_test.py "$meno" target/browser/{concepts,words}.model target/browser "${pictures[@]}" "$@"
