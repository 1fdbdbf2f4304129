#!/usr/bin/env python3
"""Writes what the package `tokenizers` makes of words of many scripts, into crates/meno/src/features/pieces.

    pip install babel==2.18.0 tokenizers==0.23.3
    scripts/get_minilm.sh target/minilm
    pieces_goldens.py target/minilm

`vocabulary.txt` is a small WordPiece vocabulary, trained on the words unless it is there: training has ties that it breaks at
random. `words.txt` has in each line a word as a JSON string and,
behind a tab, its pieces: two digits of base 64 for each. A line `# 1101` says how words are cut from there on: whether text is
cleaned, whether Chinese characters stand apart, whether accents are taken off, whether capitals become small. `minilm.txt` has
one number for each hundred of the first 10,000 words, FNV-1a of the ids that the vocabulary of MiniLM gives.

The words are names of countries, languages, months and days (Unicode CLDR, through Babel), in all scripts, as they are, in
capitals, with marks and control characters between their letters; runs of emoji; random characters; very long words. No character
is later than Unicode 3.2 unless it is a letter or a symbol in every version, because `tokenizers` has the categories of Unicode 8.
"""

import json
import pathlib
import random
import sys
import unicodedata

from babel import Locale, localedata
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

GOLDENS = pathlib.Path(__file__).parents[2] / "crates/meno/src/features/pieces"
DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
MAX_PIECES = 8
N_WORDS = 10_000
OLD = unicodedata.ucd_3_2_0
EMOJI = ["😀", "👍🏽", "👩‍🚀", "👨‍👩‍👧‍👦", "🇩🇪", "🏳️‍🌈", "❤️", "1️⃣", "☎", "✈️", "🎵", "🦀", "🤖", "🥑", "🧑🏿‍🤝‍🧑🏻", "™", "©", "♫", "→", "½"]
MARKS = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~¡¿«»§¶·–—‘’“”…‹›。、「」『』・،؛؟।॥๏៖᠁※⁂"
CONTROLS = ["\0", "\a", "\b", "\t", "\n", "\v", "\f", "\r", "\x1b", "\x1c", "\x7f", "\x85", "\xa0", "\xad", "\u1680", "\u200b"]
CONTROLS += ["\u200c", "\u200d", "\u200e", "\u2028", "\u2029", "\u202e", "\u2060", "\u3000", "\ufeff", "\ufffd", "\ue000", "\U000f0000"]
BY_HAND = ["", " ", "don't", "U.S.A.", "5pm", "$5.00", "e-mail", "#1", "##ing", "[CLS]", "[UNK]", "[unused1]", "naïve", "na\u0131ve"]
BY_HAND += ["İstanbul", "STRASSE", "straße", "ΟΔΟΣ", "ﬁn", "Å", "A\u030a", "\u212b", "한국어", "ㅎㅏㄴ", "각", "日本語テキスト", "中", "丽", "𠀀", "𫝀"]
BY_HAND += ["ไทย", "ภาษาไทย", "हिन्दी", "क़", "العَرَبِيَّة", "שָׁלוֹם", "ǅ", "ẞ", "Ǆ", "ﬀ", "ª", "²", "Ⅷ", "ⓐ", "￥", "Ａｂｃ", "\u0301", "\u0301e\u0301"]


def is_stable(c):
    """Whether all versions of Unicode agree on what it is."""
    return OLD.category(c) not in ("Cn", "Cs") and OLD.category(c) == unicodedata.category(c)


def names():
    found = set()
    for identifier in localedata.locale_identifiers():
        if "_" in identifier and not any(len(part) == 4 for part in identifier.split("_")):
            continue
        locale = Locale.parse(identifier)
        tables = [locale.territories, locale.languages, locale.months["format"]["wide"], locale.days["format"]["wide"]]
        for table in tables:
            for name in table.values():
                found.update(name.split())
    settled = lambda c: is_stable(c) or unicodedata.category(c)[0] in "LNS"
    return sorted(word for word in found if len(word) <= 11 and all(map(settled, word)))


def script(word):
    return next((unicodedata.name(c, "?").split()[0] for c in word if c.isalpha()), "?")


def spread(words, n, rng):
    """So many words, as evenly as possible of all scripts."""
    of_script = {}
    for word in words:
        of_script.setdefault(script(word), []).append(word)
    for group in of_script.values():
        rng.shuffle(group)
    chosen = []
    while len(chosen) < n:
        for name in sorted(of_script):
            if of_script[name]:
                chosen.append(of_script[name].pop())
    return chosen[:n]


def with_inside(word, what, rng):
    at = rng.randint(0, len(word))
    return word[:at] + what + word[at:]


def assemble(rng):
    plain = spread(names(), 6500, rng)
    stable = [chr(c) for c in range(0x30000) if is_stable(chr(c))]
    few = [c for c in stable if not "\u3400" <= c <= "\ud7ff" and c < "\U00020000"]
    words = BY_HAND + EMOJI + MARKS.split() + list(MARKS) + CONTROLS + plain
    words += [rng.choice([str.upper, str.title, str.lower])(rng.choice(plain)) for _ in range(800)]
    words += [with_inside(rng.choice(plain), rng.choice(MARKS), rng) for _ in range(900)]
    words += [with_inside(rng.choice(plain), rng.choice(CONTROLS), rng) for _ in range(500)]
    words += [with_inside(rng.choice(plain), rng.choice(EMOJI), rng) for _ in range(200)]
    words += ["".join(rng.choices(EMOJI, k=rng.randint(2, 4))) for _ in range(60)]
    words += [unicodedata.normalize(rng.choice(["NFD", "NFKD", "NFC"]), rng.choice(plain)) for _ in range(500)]
    words += [rng.choice("aéяעक中") * rng.randint(96, 104) for _ in range(12)]
    words += ["".join(rng.choices(few, k=rng.randint(1, 4))) for _ in range(300)]
    words += ["".join(rng.choices(stable, k=rng.randint(1, 3))) for _ in range(N_WORDS)]
    return words[:N_WORDS]


def tokenizer(vocabulary, clean, ideographs, accents, lowercase):
    made = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]", max_input_chars_per_word=100))
    made.normalizer = normalizers.BertNormalizer(clean, ideographs, accents, lowercase)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return made


def pieces(made, word):
    ids = made.encode(word, add_special_tokens=False).ids[:MAX_PIECES]
    return ids or [made.token_to_id("[UNK]")]


def train(words):
    made = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer(True, True, False, False)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    bare = normalizers.BertNormalizer(True, True, True, True)
    texts = words + [bare.normalize_str(word) for word in words]
    trainer = trainers.WordPieceTrainer(vocab_size=4096, limit_alphabet=1200, special_tokens=SPECIAL, show_progress=False)
    made.train_from_iterator(texts, trainer)
    return sorted(made.get_vocab(), key=made.get_vocab().get)


def fnv(numbers):
    key = 0x811C9DC5
    for number in numbers:
        for byte in number.to_bytes(4, "little"):
            key = ((key ^ byte) * 0x01000193) & 0xFFFFFFFF
    return key


def main():
    rng = random.Random(1)
    words = assemble(rng)
    path = GOLDENS / "vocabulary.txt"
    if not path.exists():
        path.write_text("\n".join(train([word for word in words if len(word) < 40])) + "\n", newline="\n")
    names = path.read_text().splitlines()
    vocabulary = {name: i for i, name in enumerate(names)}
    lines = []
    for settings, some in [("1111", words)] + [(s, rng.sample(words, 100)) for s in ("1100", "1101", "0111", "1011", "1110")]:
        made = tokenizer(vocabulary, *(bit == "1" for bit in settings))
        lines.append(f"# {settings}\n")
        for word in some:
            code = "".join(DIGITS[i // 64] + DIGITS[i % 64] for i in pieces(made, word))
            lines.append(f"{json.dumps(word, ensure_ascii=False)}\t{code}\n")
    (GOLDENS / "words.txt").write_text("".join(lines), newline="\n")
    names = (pathlib.Path(sys.argv[1]) / "vocab.txt").read_text().splitlines()
    made = tokenizer({name: i for i, name in enumerate(names)}, True, True, True, True)
    ids = [pieces(made, word) for word in words]
    hundreds = [fnv(i for word in ids[at : at + 100] for i in word) for at in range(0, len(ids), 100)]
    (GOLDENS / "minilm.txt").write_text("".join(f"{key:08x}\n" for key in hundreds))


if __name__ == "__main__":
    main()
