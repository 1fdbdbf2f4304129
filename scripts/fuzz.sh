#!/usr/bin/env bash
# Fuzzes the loaders and readers, and the server by the bodies of requests.
#
#   scripts/fuzz.sh [SECONDS [TARGET...]]     so long for each target, 60 by default; all targets unless some are named
#
# Installs cargo-fuzz if it is missing. Without a sanitizer the stable toolchain will do: outside the kernels there is
# no unsafe code, and the fuzzer looks for panics, endless loops and allocations out of proportion. What it finds lies
# in fuzz/artifacts; `cargo fuzz run TARGET FILE --sanitizer none` shows it again.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-60}
targets=("${@:2}")
[ ${#targets[@]} -gt 0 ] || targets=(model corpus text logits values conllu memory onnx pretrained concepts tokens phrasebook checkpoint http)

if ! cargo fuzz --version >/dev/null 2>&1; then
    cargo install cargo-fuzz --locked
fi

# The seeds: real files, from which the fuzzer goes on.
seeds=fuzz/corpus
mkdir -p $seeds/model $seeds/corpus $seeds/text $seeds/logits $seeds/values $seeds/conllu $seeds/memory $seeds/onnx $seeds/pretrained \
  $seeds/concepts $seeds/tokens $seeds/phrasebook $seeds/checkpoint $seeds/http
cp crates/meno/tests/onnx/*.onnx crates/meno/tests/onnx/refused/*.onnx $seeds/onnx/
cp crates/meno/tests/goldens/conllu/*.conllu $seeds/conllu/
cp crates/meno/tests/models/*.meno $seeds/model/
printf '\0play the wall\nweather in rome\n---\nO B-album I-album\nO O B-city\n---\nplay\nweather\n' >$seeds/corpus/folder
printf '\001# intent: play\nplay O\nthe B-album\nwall I-album\n\nweather O\nrome B-city\n' >$seeds/corpus/conll
printf '\002{"tokens":["play","thriller"],"ner_tags":["O","B-album"],"intent":"play"}\n' >$seeds/corpus/jsonl
printf '\003{"language":"en","intents":{"play":{"utterances":[{"data":[{"text":"play "},{"text":"thriller","entity":"album","slot_name":"album"}]}]}}}' >$seeds/corpus/snips
printf '\004nlu:\n- intent: play\n  examples: |\n    - play [thriller](album)\n    - put on [the wall]{"entity":"album","value":"The Wall"}\n- synonym: thriller\n  examples: |\n    - thrillr\n- lookup: album\n  examples: |\n    - abbey road\n' >$seeds/corpus/rasa
printf '\005{"id":"1","intent":"play","partition":"train","annot_utt":"play [album : the wall]"}\n' >$seeds/corpus/massive
printf '\006play:O thriller:B-album <=> PlayMusic\n' >$seeds/corpus/word-tag
printf '\007## intent:play\n- play [thriller](album)\n## synonym:thriller\n- thrillr\n## lookup:album\n- the wall\n' >$seeds/corpus/rasa-md
printf '\010{"slurp_id":1,"sentence_annotation":"play [album : the wall]","intent":"play"}\n{"tokens":[{"surface":"play"},{"surface":"it"}],"entities":[{"span":[1],"type":"x"}]}\n' >$seeds/corpus/slurp
printf '\011scenario;intent;answer_annotation\nplay;music;"play [album : ""x""]"\n' >$seeds/corpus/csv
printf '\012type: intent\nname: play\nutterances:\n- play [album:music](thriller)\n---\ntype: entity\nname: music\nvalues:\n- [thriller, t]\n' >$seeds/corpus/snips-yaml
printf '\013language: en\nintents:\n  play:\n    data:\n    - sentences: ["[please] (play;<now>) {album:a} [{1..3:n}]"]\nexpansion_rules:\n  now: (now|later)\nlists:\n  album:\n    values: [{in: "the wall[s]", out: wall}]\ntests:\n- sentences: [play wall]\n  slots: {album: wall}\n' >$seeds/corpus/hassil
printf '\014[{"data":[{"text":"play "},{"text":"thriller","alias":"album","meta":"@album"}]}]' >$seeds/corpus/dialogflow
printf '\015{"luis_schema_version":"7.0.0","closedLists":[{"name":"a","subLists":[{"canonicalForm":"x","list":["y"]}]}],"utterances":[{"text":"play thriller","intent":"play","entities":[{"entity":"album","startPos":5,"endPos":12}]}]}' >$seeds/corpus/luis
printf '\016{"projectFileVersion":"1","assets":{"entities":[],"utterances":[{"text":"play thriller","intent":"play","entities":[{"category":"album","offset":5,"length":8}]}]}}' >$seeds/corpus/clu
printf '\017{"utterances":[{"text":"play thriller","intent":"play","entities":[{"entity":"album:album","start":5,"end":13,"body":"thriller"}]}]}' >$seeds/corpus/wit
printf '\020[{"data":{"text":"play thriller"},"annotations":[{"result":[{"value":{"start":5,"end":13,"labels":["album"]}},{"value":{"choices":["play"]}}]}]}]' >$seeds/corpus/label-studio
printf "don't fly to st. paul at 5 pm\nu.s. 5:30 \$20 it's\n\nWhat’s the fare to St. Paul, after 5pm?" >$seeds/text/typed
for file in crates/meno/tests/goldens/logits/*.{jsonl,npz,safetensors}; do
    case $file in *.jsonl) format='\0' ;; *.npz) format='\001' ;; *) format='\002' ;; esac
    { printf "$format"; cat "$file"; } >"$seeds/logits/${file##*/}"
done
printf '\003{"label_names":["O","B-x"]}\n{"tokens":["a","b"],"logits":[[0.25,0.75],[1,0]],"labels":["B-x",0]}\n' >$seeds/logits/probabilities
printf "the driver's mix\ns club 7\n\nPlay the driver s mixes by S Club 7, please!" >$seeds/memory/typed
printf 'album\tAbbey Road\ncity\tOslo\n' >$seeds/values/lines
printf '{"album": ["Abbey Road"], "city": ["Oslo", "Rome"]}' >$seeds/values/json
config='{"model_type":"bert","vocab_size":5,"hidden_size":16,"num_hidden_layers":1,"num_attention_heads":1,"intermediate_size":16,"max_position_embeddings":8,"type_vocab_size":2,"hidden_act":"gelu"}'
header='{"embeddings.LayerNorm.weight":{"dtype":"F32","shape":[16],"data_offsets":[0,64]}}'
printf '%s\n---\n[PAD]\n[UNK]\n[CLS]\n[SEP]\nplay\n---\n\x53\0\0\0\0\0\0\0%s%064d' "$config" "$header" 0 >$seeds/pretrained/vocabulary
printf '%s\n---\n{"model":{"type":"WordPiece","vocab":{"[PAD]":0,"[UNK]":1,"[CLS]":2,"[SEP]":3,"play":4}}}\n---\n' "$config" >$seeds/pretrained/tokenizer

printf '{"phrase": "Red Moon", "slot": "song", "value": "x", "owner": "anna", "created": 1, "uses": 2}\n\n{"phrase":"blue","slot":"song","owner":null}\n' >$seeds/concepts/lines
printf '# who may\nanna read,teach ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\n' >$seeds/tokens/lines
cp crates/meno/src/dialogue/*.toml $seeds/phrasebook/
printf '\001\0\0\0\0' >$seeds/checkpoint/edit
printf '\0{"text": "play the wall", "syntax": true, "threshold": 0.5, "now": "2026-11-17T08:00:00+01:00", "zone": "Europe/Berlin"}' >$seeds/http/annotate
printf '\001{"session": "s", "text": "play zorblax road", "act_from": 0.9}' >$seeds/http/dialogue
printf '\002{"phrase": "leg day", "slot": "album", "value": "x"}' >$seeds/http/teach
printf '\003{"phrase": "leg day", "slot": "album"}\n' >$seeds/http/import
printf '\004{"value": null}' >$seeds/http/amend
printf '\005{"text": "weather in rome"}' >$seeds/http/parse
printf '\006' >$seeds/http/undo

for target in "${targets[@]}"; do
    echo "== $target: $seconds s"
    cargo fuzz run "$target" --sanitizer none -- -max_total_time="$seconds" -max_len=65536 -rss_limit_mb=1024 -timeout=10 -print_final_stats=1
done
rm -rf /dev/shm/meno-fuzz-* "${TMPDIR:-/tmp}"/meno-fuzz-*
