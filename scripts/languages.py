#!/usr/bin/env python3
"""Corpora in other languages, made of the sentence templates of Home Assistant (PyPI's home-assistant-intents, CC BY 4.0).

    scripts/languages.py OUT LANGUAGE... [--meno PATH]        LANGUAGE: de, fr, ja, nl, th or zh-CN

Writes OUT/LANGUAGE with train, valid and test, each with seq.in, seq.out and label, for scripts/corpora.sh and `meno train`.

No template is in two splits: of every intent with three templates or more a fifth is for test and a tenth for valid; a test or
valid sentence that another split could have all the same is left out. Areas, floors, devices and things to buy are not in the package:
they are below. A third of them is in the test split only. Meno itself expands the templates and cuts the sentences into words
(`meno data convert` of a hassil file), so whoever reads the folders has the words of Meno's tokenizer. All is made with
one seed, so the same package gives the same corpora.
"""

import argparse
import json
import os
import pathlib
import random
import subprocess
import sys
import zipfile

PACKAGE = "home-assistant-intents==2026.10.27"
# How many sentences a split has, about: the more templates, the fewer sentences of each.
SIZES = {"train": 2000, "valid": 300, "test": 600}

VALUES = {
    "de": {
        "area": "Küche|Wohnzimmer|Schlafzimmer|Bad|Flur|Garage|Arbeitszimmer|Kinderzimmer|Garten|Keller|Esszimmer|Gästezimmer|Balkon|Dachboden|Werkstatt",
        "floor": "Erdgeschoss|Obergeschoss|Untergeschoss|Dachgeschoss|erster Stock|zweiter Stock",
        "name": "Stehlampe|Deckenlampe|Fernseher|Kaffeemaschine|linker Rollladen|Ventilator|Haustür|Nachttischlampe|Spot links|Heizung|"
        "Lichterkette|Garagentor|Staubsauger|Rasenmäher|Lautsprecher|Markise|Leselampe|Radio|Bewässerung|Terrassentür",
        "item": "Milch|Brot|sechs Eier|Butter|Äpfel|Klopapier|grüner Tee|Nudeln|Zwiebeln|Olivenöl|Batterien|Kartoffeln",
    },
    "nl": {
        "area": "keuken|woonkamer|slaapkamer|badkamer|gang|garage|werkkamer|kinderkamer|tuin|kelder|eetkamer|logeerkamer|balkon|zolder|schuur",
        "floor": "begane grond|eerste verdieping|tweede verdieping|souterrain|bovenverdieping|derde verdieping",
        "name": "staande lamp|plafondlamp|televisie|koffiezetapparaat|linker rolluik|ventilator|voordeur|nachtlampje|spot links|verwarming|"
        "lichtslinger|garagedeur|stofzuiger|grasmaaier|luidspreker|zonnescherm|leeslamp|radio|sproeier|terrasdeur",
        "item": "melk|brood|zes eieren|boter|appels|wc papier|groene thee|pasta|uien|olijfolie|batterijen|aardappelen",
    },
    "fr": {
        "area": "cuisine|salon|chambre|salle de bain|couloir|garage|bureau|chambre des enfants|jardin|cave|salle à manger|chambre d'amis|balcon|"
        "grenier|atelier",
        "floor": "rez-de-chaussée|premier étage|deuxième étage|sous-sol|dernier étage|troisième étage",
        "name": "lampadaire|plafonnier|télévision|machine à café|volet gauche|ventilateur|porte d'entrée|lampe de chevet|spot gauche|chauffage|"
        "guirlande|porte du garage|aspirateur|tondeuse|enceinte|store|lampe de lecture|radio|arrosage|porte de la terrasse",
        "item": "lait|pain|six œufs|beurre|pommes|papier toilette|thé vert|pâtes|oignons|huile d'olive|piles|pommes de terre",
    },
    "th": {
        "area": "ห้องครัว|ห้องนั่งเล่น|ห้องนอน|ห้องน้ำ|ทางเดิน|โรงรถ|ห้องทำงาน|ห้องเด็ก|สวน|ห้องใต้ดิน|ห้องอาหาร|ห้องรับแขก|ระเบียง|ห้องใต้หลังคา|ห้องเก็บของ",
        "floor": "ชั้นหนึ่ง|ชั้นสอง|ชั้นล่าง|ชั้นบน|ชั้นสาม|ชั้นดาดฟ้า",
        "name": "โคมไฟ|ไฟเพดาน|ทีวี|เครื่องชงกาแฟ|ม่านซ้าย|พัดลม|ประตูหน้า|ไฟหัวเตียง|สปอตไลท์|เครื่องทำความร้อน|"
        "ไฟประดับ|ประตูโรงรถ|เครื่องดูดฝุ่น|เครื่องตัดหญ้า|ลำโพง|กันสาด|ไฟอ่านหนังสือ|วิทยุ|สปริงเกอร์|ประตูหลัง",
        "item": "นม|ขนมปัง|ไข่หกฟอง|เนย|แอปเปิล|กระดาษทิชชู่|ชาเขียว|เส้นหมี่|หัวหอม|น้ำมันมะกอก|ถ่าน|มันฝรั่ง",
    },
    "ja": {
        "area": "キッチン|リビング|寝室|浴室|廊下|ガレージ|書斎|子供部屋|庭|地下室|食堂|客間|ベランダ|屋根裏|作業場",
        "floor": "一階|二階|地下|三階|屋上|最上階",
        "name": "フロアランプ|シーリングライト|テレビ|コーヒーメーカー|左のブラインド|扇風機|玄関のドア|枕元の明かり|左のスポット|暖房|"
        "イルミネーション|車庫の扉|掃除機|芝刈り機|スピーカー|日よけ|読書灯|ラジオ|スプリンクラー|勝手口",
        "item": "牛乳|パン|卵六個|バター|りんご|トイレットペーパー|緑茶|うどん|玉ねぎ|オリーブオイル|電池|じゃがいも",
    },
    "zh-CN": {
        "area": "厨房|客厅|卧室|浴室|走廊|车库|书房|儿童房|花园|地下室|餐厅|客房|阳台|阁楼|储藏室",
        "floor": "一楼|二楼|底层|顶层|三楼|负一楼",
        "name": "落地灯|吸顶灯|电视|咖啡机|左边的百叶窗|风扇|前门|床头灯|射灯|暖气|"
        "彩灯|车库门|吸尘器|割草机|音箱|遮阳篷|阅读灯|收音机|洒水器|后门",
        "item": "牛奶|面包|六个鸡蛋|黄油|苹果|卫生纸|绿茶|面条|洋葱|橄榄油|电池|土豆",
    },
}
# The lists of the package for which the values above stand.
LISTS = {"area": "area", "floor": "floor", "name": "name", "shopping_list_item": "item", "todo_list_item": "item"}


def package(out):
    """The wheel, downloaded once."""
    if not list(out.glob("home_assistant_intents-*.whl")):
        subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", out, PACKAGE], check=True)
    return zipfile.ZipFile(next(out.glob("home_assistant_intents-*.whl")))


def split_templates(intents, rng):
    """Split -> [(intent, its block of data with one sentence)]."""
    splits, seen = {name: [] for name in SIZES}, set()
    for intent, content in sorted(intents.items()):
        blocks = []
        for block in content["data"]:
            new = [template for template in dict.fromkeys(block["sentences"]) if template not in seen]
            seen.update(new)
            blocks += [{**block, "sentences": [template]} for template in new]
        rng.shuffle(blocks)
        n_test = max(1, round(len(blocks) / 5)) if len(blocks) >= 3 else 0
        n_valid = max(1, round(len(blocks) / 10)) if len(blocks) >= 6 else 0
        parts = {"test": blocks[:n_test], "valid": blocks[n_test : n_test + n_valid], "train": blocks[n_test + n_valid :]}
        for name, part in parts.items():
            splits[name] += [(intent, block) for block in part]
    return splits


def expand(meno, language, data, blocks, is_test, folder):
    """[(words, labels, intent, number of the template)], as `meno data convert` reads a hassil file of these blocks."""
    lists = dict(data["lists"])
    for name, kind in LISTS.items():
        values = VALUES[language][kind].split("|")
        lists[name] = {"values": values if is_test else [value for i, value in enumerate(values) if i % 3 != 2]}
    # The name of an intent carries the number of the template through the reader.
    intents = {f"{intent}@{number}": {"data": [block]} for number, (intent, block) in enumerate(blocks)}
    folder.mkdir(parents=True, exist_ok=True)
    hassil = folder / "templates.yaml"
    content = {"language": language, "intents": intents, "lists": lists, "expansion_rules": data.get("expansion_rules", {})}
    hassil.write_text(json.dumps(content, ensure_ascii=False, indent=1), encoding="utf-8")
    run = [meno, "data", "convert", hassil, folder, "--from", "hassil", "--to", "folder"]
    ran = subprocess.run(run, capture_output=True, text=True)
    if ran.returncode:
        sys.exit(ran.stderr)
    hassil.unlink()
    lines = [(folder / name).read_text(encoding="utf-8").splitlines() for name in ("seq.in", "seq.out", "label")]
    return [(words, labels, *intent.rsplit("@", 1)) for words, labels, intent in zip(*lines, strict=True)]


def sample(found, size, without, rng):
    """As many sentences of every template, `size` in all or less; none twice, and none of `without`."""
    by_template, seen = {}, set(without)
    rng.shuffle(found)
    for words, labels, intent, number in found:
        if words not in seen:
            seen.add(words)
            by_template.setdefault(number, []).append((words, labels, intent))
    each = -(-size // max(1, len(by_template)))
    chosen = [row for rows in by_template.values() for row in rows[:each]]
    rng.shuffle(chosen)
    return chosen, len(by_template)


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    default = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", root / "target")) / "release" / "meno"
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("languages", nargs="+", choices=sorted(VALUES), metavar="LANGUAGE")
    parser.add_argument("--meno", default=default)
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    wheel = package(args.out)
    print("| language | intents | slots | templates: train, valid, test | sentences: train, valid, test | words of test that train lacks |")
    print("|---|---:|---:|---:|---:|---:|")
    for language in args.languages:
        rng = random.Random(f"{language} 1")
        data = json.loads(wheel.read(f"home_assistant_intents/data/{language}.json"))
        chosen, templates, seen = {}, [], []
        for name, blocks in split_templates(data["intents"], rng).items():
            folder = args.out / language / name
            found = expand(args.meno, language, data, blocks, name == "test", folder)
            chosen[name], n_templates = sample(found, SIZES[name], seen, rng)
            # All that the templates of this split can say, not only what was chosen of it.
            seen += [row[0] for row in found]
            templates.append(n_templates)
            for column, file in enumerate(("seq.in", "seq.out", "label")):
                (folder / file).write_text("".join(row[column] + "\n" for row in chosen[name]), encoding="utf-8")
        known = {word for row in chosen["train"] for word in row[0].split()}
        words = [word for row in chosen["test"] for word in row[0].split()]
        slots = {label[2:] for row in chosen["train"] for label in row[1].split() if label != "O"}
        sentences = ", ".join(str(len(rows)) for rows in chosen.values())
        unknown = 100 * sum(word not in known for word in words) / len(words)
        n_intents = len({row[2] for row in chosen["train"]})
        print(f"| {language} | {n_intents} | {len(slots)} | {', '.join(map(str, templates))} | {sentences} | {unknown:.1f} % |")


if __name__ == "__main__":
    main()
