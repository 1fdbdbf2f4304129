#!/usr/bin/env bash
# How long a fresh clone takes to its first answer, and whether the program of the quick profile `release` tags and trains as fast as one
# with thin link-time optimisation: pairs of runs, one after the other, processor seconds of each.
#
#   scripts/bench_profile.sh [PAIRS]
set -euo pipefail
cd "$(dirname "$0")/.."
pairs=${1:-10}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
git clone --quiet . "$work/clone"
cd "$work/clone"
export CARGO_TARGET_DIR=$work/target

echo "fresh clone, cargo run --release -- demo"
( TIMEFORMAT='%R s, %U s of processor time'; time cargo run --release --locked --quiet -- demo </dev/null >/dev/null 2>&1 )
cp "$work/target/release/meno" "$work/quick"

cargo build --release --locked --quiet --target-dir "$work/target-thin" \
  --config profile.release.opt-level=3 --config 'profile.release.lto="thin"' --config profile.release.codegen-units=4 \
  --config profile.release.package.meno.opt-level=3 --config profile.release.package.tokio.opt-level=3
cp "$work/target-thin/release/meno" "$work/thin"

"$work/quick" train data/concepts -o "$work/model" --epochs 10 >/dev/null 2>&1
for _ in 1 2 3 4 5 6; do cat data/concepts/*/seq.in; done >"$work/text"
for pair in $(seq "$pairs"); do
  for program in quick thin; do
    TIMEFORMAT="tag $program %U"
    time "$work/$program" tag "$work/model" --threads 1 <"$work/text" >/dev/null
    TIMEFORMAT="train $program %U"
    time "$work/$program" train data/concepts -o "$work/other" --threads 1 --epochs 5 >/dev/null 2>&1
  done
done 2>&1 | awk '
  { seconds[$1, $2, ++n[$1, $2]] = $3 }
  function median(values, n,   i, j, x) {
    for (i = 2; i <= n; i++) { x = values[i]; for (j = i - 1; j && values[j] > x; j--) values[j + 1] = values[j]; values[j + 1] = x }
    return n % 2 ? values[(n + 1) / 2] : (values[n / 2] + values[n / 2 + 1]) / 2
  }
  END {
    split("tag train", work, " ")
    for (w = 1; w <= 2; w++) {
      k = n[work[w], "quick"]
      for (i = 1; i <= k; i++) { quick[i] = seconds[work[w], "quick", i]; ratio[i] = quick[i] / seconds[work[w], "thin", i] }
      printf "%s: %.2f s, %.3f times what it takes with thin link-time optimisation (medians of %d pairs)\n", work[w], median(quick, k), median(ratio, k), k
    }
  }'
