#!/usr/bin/env bash
# The files that run a server, without Docker and systemd themselves: the unit is verified by systemd-analyze, compose.yaml by the
# schema of Compose, and the commands of both and of the Dockerfile are run as they stand there (scripts/deploy_test.py).
#
#   scripts/deploy_test.sh MENO     a program with the feature `postgres`
#
# What the machine lacks is left out, and fails where CI is true.
set -euo pipefail
cd "$(dirname "$0")/.."
meno=$(realpath "${1:?a program}")

left_out() {
  printf '!! left out: %s\n' "$*"
  if [ "${CI:-}" = true ]; then exit 1; fi
}

if ! command -v systemd-analyze >/dev/null && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends systemd; } >/dev/null 2>&1 || true
fi
if command -v systemd-analyze >/dev/null; then
  dir=$(mktemp -d)
  trap 'rm -rf "$dir"' EXIT
  # Where the program is not installed, that is all that is wrong.
  sed "s|/usr/local/bin/meno|$meno|" deploy/meno.service >"$dir/meno.service"
  problems=$(systemd-analyze verify --man=no --recursive-errors=no "$dir/meno.service" 2>&1) && [ -z "$problems" ] \
    || { echo "deploy/meno.service: $problems" >&2; exit 1; }
  echo "deploy/meno.service: systemd-analyze finds nothing"
else
  left_out "the unit, because there is no systemd-analyze"
fi

venv=target/venv-deploy
[ -x "$venv/bin/python" ] || "${PYTHON:-python3}" -m venv "$venv"
# Of the last only the schema is used.
{ "$venv/bin/pip" install -q dockerfile-parse==2.0.1 jsonschema==4.26.0 PyYAML==6.0.3 \
  && "$venv/bin/pip" install -q --no-deps docker-compose==1.29.2; } \
  || { left_out "Dockerfile and compose.yaml, because PyPI cannot be reached"; exit 0; }
"$venv/bin/python" scripts/deploy_test.py "$meno"
