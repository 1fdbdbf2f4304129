#!/usr/bin/env python3
"""Uses the playground as a person would, in a headless Chromium. Run by scripts/browser_test.sh.

    browser_test.py MENO MODEL WORDS OUT [--pictures MODEL FOLDER]

MODEL judges concepts, WORDS is a model that judges words; both are of data/concepts. Every test begins on a fresh page with an empty
store. A test fails on an error in the browser's console too, which is where violations of the content security policy are told.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

from selenium.common.exceptions import NoAlertPresentException
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

from browser_page import Away, Page, Server, browser, wait

REPOSITORY = Path(__file__).resolve().parent.parent

KNOWN = "Remind me to call my sister tomorrow morning."
NEW = "What's the weather in Mossy Grumble tomorrow?"
NEW_PHRASE = "Mossy Grumble"
AGAIN = "Who am I meeting at Mossy Grumble?"
EVIL = "<script>alert(1)</script>"


def teach(page):
    """Says the new thing, and explains it when asked."""
    assert NEW_PHRASE in page.say(NEW), page.reply()
    assert "remember" in page.say("it's a place"), page.reply()


def plain(name):
    return name.split(".")[-1].replace("_", " ").replace("-", " ")


def kind(name):
    article = "an" if plain(name)[0] in "aeiou" else "a"
    return f"{article} {plain(name)}"


def spans_of(answer):
    return [(span["text"], plain(span["slot"])) for span in answer["spans"]]


def is_number_shown(page):
    """Whether there is a percentage, or a number with a point, in what is shown."""
    shown = page.run("return document.querySelector('aside').innerText")
    return re.search(r"[0-9]\s*%|[0-9]\.[0-9]", shown) is not None


# ------------------------------------------------------------------------------------------------ tests


def a_request_is_set_off_and_fills_the_form(page):
    page.say(KNOWN)
    answer = page.server.annotate(KNOWN)
    assert answer["decision"] == "act" and len(answer["spans"]) > 1
    assert page.marks() == spans_of(answer), page.marks()
    colours = page.run("return [...document.querySelectorAll('.you mark')].map((mark) => getComputedStyle(mark).backgroundColor)")
    assert len(set(colours)) == len({span["slot"] for span in answer["spans"]}), "one colour a slot"
    assert page.texts(".you")[0].startswith(KNOWN.split()[0]) and page.count(".turn") == 1
    assert page.state() == "Understood"
    form = page.form()
    assert form["Request"].lower() == plain(answer["intent"]["name"]).lower()
    for text, slot in spans_of(answer):
        assert text in form[slot], form
    assert page.one("#turn").get_attribute("value") == "" and page.focused().get_attribute("id") == "turn"
    assert not is_number_shown(page), "numbers are in the details"


def it_asks_learns_and_understands_the_next_time(page):
    reply = page.say(NEW)
    assert f"What is {NEW_PHRASE}" in reply, reply
    assert page.state() == "Needs one answer" and (NEW_PHRASE, "unknown") in page.marks()
    assert page.run("return getComputedStyle(document.querySelector('mark.is-unknown')).outlineStyle") == "dashed"
    assert NEW_PHRASE in page.form().values() and "?" in "".join(page.form())
    assert page.texts("#why")[0].endswith(".") and not is_number_shown(page)
    chips = page.chips()
    assert chips[-3:] == ["Something else…", "I don’t know, go ahead", "Never mind"], chips
    assert page.count("#log .chips kbd") == len(chips) - 3
    assert "Answer" in page.one("#turn").get_attribute("placeholder")
    place = next(i for i, name in enumerate(chips) if name == "A place")
    reply = page.pressed(f"#log .chips button:nth-child({place + 1})")
    assert "I will remember" in reply and page.texts(".you")[-1] == "a place", reply
    assert page.state() == "Understood" and page.count("#log .chips") == 0
    assert page.form()["place"] == NEW_PHRASE
    assert (NEW_PHRASE, "place") in page.marks(0), "the request itself is set off anew"
    assert page.texts(".note") == [f"Learnt {NEW_PHRASE}: a place · Forget it"]
    wait(lambda: page.texts("#memory-count") == ["1"], "the count of what was taught")
    wait(lambda: NEW_PHRASE in page.texts("#recent")[0], "what is remembered")
    page.say(AGAIN)
    assert page.state() == "Understood" and (NEW_PHRASE, "place") in page.marks()
    assert f"remembers that {NEW_PHRASE} is a place" in page.texts("#why")[0]


def answers_are_picked_by_number(page):
    page.say(NEW)
    second = page.chips()[1]
    page.press("2")
    wait(lambda: page.count(".meno") == 3, "the reply")
    assert page.texts(".you")[-1] == second.lower() and "remember" in page.reply()
    assert page.focused().get_attribute("id") == "turn" and page.one("#turn").get_attribute("value") == ""
    # Where there is no question, or something is in the box, a digit is a digit.
    page.press("2")
    assert page.one("#turn").get_attribute("value") == "2"


def a_question_can_be_let_go(page):
    page.say(NEW)
    assert "then?" in page.pressed("#log .chips .other:nth-last-child(3)")
    assert page.state() == "Needs one answer" and "Something else…" not in page.chips()
    assert (NEW_PHRASE, "unknown") in page.marks(0)
    page.pressed("#log .chips .other:nth-last-child(2)")
    assert page.texts(".you")[-1] == "I don't know" and page.state() == "Understood"
    page.one("#anew").click()
    page.say(NEW)
    page.pressed("#log .chips .other:last-child")
    assert page.texts(".you")[-1] == "never mind" and page.state() == "Listening" and page.form() == {}
    assert page.server.call("GET", "/v1/concepts")["concepts"] == []


def a_new_kind_waits_for_a_yes(page):
    page.say(NEW)
    page.say("it's a podcast")
    assert "new kind" in page.reply(), page.reply()
    assert page.chips()[:2] == ["Yes, a podcast", "No"] and "new kind" in page.texts("#why")[0]
    page.press("1")
    wait(lambda: "I will remember" in page.reply(), "the promise")
    assert page.form()["podcast"] == NEW_PHRASE


def what_it_cannot_do_is_said(page):
    page.say("Ich hätte gern eine Bratwurst mit Senf und Brot")
    assert page.state() == "Cannot help" and "trained" in page.texts("#why")[0], page.state()
    assert page.form() == {}


def question_about(server, part):
    """
    An utterance of the shipped corpus that raises a question about this part of its reading, and its annotation. If it is
    about words, training had none of them: others are not taken from memory where the tagger knows better.
    """
    known = set((REPOSITORY / "data/concepts/train/seq.in").read_text().split())
    is_new = lambda text, about: known.isdisjoint(text.encode()[about.get("start", 0):about.get("end", 0)].decode().split())
    for split in ["new", "test", "valid"]:
        texts = (REPOSITORY / f"data/concepts/{split}/seq.in").read_text().splitlines()
        for first in range(0, len(texts), 50):
            for answer in server.call("POST", "/v1/annotate", {"texts": texts[first:first + 50]})["annotations"]:
                about = answer.get("about", {})
                if part in about and about["options"] and is_new(answer["text"], about):
                    return answer["text"], server.annotate(answer["text"])
    raise AssertionError(f"no utterance of the corpus raises a question about {part}")


def a_question_about_the_intent_has_answers(page):
    text, answer = question_about(page.server, "intent")
    assert page.say(text).startswith("Did you mean")
    names = [plain(option["name"]) for option in answer["about"]["options"]]
    chips = page.chips()
    assert [name.lower() for name in chips[:len(names)]] == names, chips
    assert chips[len(names):] == ["Something else…", "Never mind"]
    assert page.form()["Request"] == " or ".join(names) + "?"
    page.pressed(f"#log .chips button:nth-child({len(names)})")
    assert page.state() in ["Understood", "Needs one answer"] and page.form()["Request"].lower() == names[-1]


def a_question_about_words_outside_has_answers(page):
    text, answer = question_about(page.server, "outside")
    page.say(text)
    if page.state() != "Needs one answer":
        return  # Ordinary words are not asked about.
    options = [kind(option["name"]) for option in answer["about"]["options"]]
    assert page.chips()[0].lower().removeprefix("yes, ") in options, (page.chips(), options)


def numbers_are_in_the_details(page):
    page.say(NEW)
    answer = page.server.annotate(NEW)
    assert not page.one("#details-body").is_displayed()
    page.one("#details summary").click()
    wait(lambda: page.count("#arcs .arrow") == len(answer["tokens"]), "the tree")
    assert page.texts(".word .form") == [token["text"] for token in answer["tokens"]]
    assert page.texts(".word .label") == [token["label"] for token in answer["tokens"]]
    unknown = [token["text"] for token in answer["tokens"] if token["label"].endswith("-unknown")]
    assert unknown and page.texts(".word.is-unknown .form") == unknown
    assert page.count(".word.heat-3, .word.heat-4, .word.heat-5") == len(unknown), "what is over the threshold is hot"
    numbers = dict(zip(page.texts("#numbers dt"), page.texts("#numbers dd")))
    assert numbers["Decision"] == "ask" and numbers["Intent"].startswith(answer["intent"]["name"]), numbers
    assert numbers["Confidence"].startswith(f"{round(100 * answer['confidence'])} %")
    assert json.loads(page.texts("#json")[0])["reply"]["outcome"] == "ask"
    arcs = sum(word["head"] is not None for word in answer["parse"])
    assert page.count("#arcs .arc") == arcs + 1
    token = next(token for token in answer["tokens"] if token["unknown"])
    ActionChains(page.driver).move_to_element(page.one(".word.is-unknown")).perform()
    tip = page.one("#tip")
    wait(tip.is_displayed, "the runners-up")
    assert page.texts("#tip li .name") == [token["first_choice"], *(up["label"] for up in token["reason"]["runners_up"])]
    page.press(Keys.ESCAPE)
    assert not tip.is_displayed()
    page.focus(".word")
    wait(tip.is_displayed, "the tip of the focused word")
    assert page.focused().get_attribute("aria-describedby") == "tip"


def the_page_lays_out_what_the_server_says(page):
    texts = (REPOSITORY / "data/concepts/new/seq.in").read_text().splitlines()[:150]
    texts += ["Weck mich, Jürgen – 日本語 🎵 naïve café!", "  wake   me\tat six  ", "🎵", "ﬁ ﬂ e\u0301", "call Zoë’s mom"]
    page.server.call("POST", "/v1/concepts", {"phrase": "the harvest supper", "slot": "item", "value": "supper"})
    page.server.call("POST", "/v1/concepts", {"phrase": "Zoë’s mom", "slot": "person"})
    script = """
      const [texts, done] = arguments;
      const post = async (path, request) => (await fetch(path, {
        method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(request) })).json();
      (async () => {
        const { laidOut } = await import("/page/answer.js");
        const { follow } = await import("/page/request.js");
        const { marked } = await import("/page/bubble.js");
        const { why } = await import("/page/words.js");
        const model = await (await fetch("/v1/model")).json();
        const { value, median } = model.threshold;
        const found = [];
        for (const [number, text] of texts.entries()) {
          for (const more of [{}, { threshold: (value + median) / 2 }, { threshold: median - 1 }]) {
            const turn = await post("/v1/dialogue", { session: `lay-${number}-${found.length}`, text, ...more });
            const request = follow(null, 0, { said: text, answer: turn });
            const answer = turn.annotation;
            const laid = laidOut(answer, model);
            const bubble = document.createElement("p");
            if (request) bubble.append(...marked(request));
            bubble.querySelectorAll("small, .hidden").forEach((node) => node.remove());
            bubble.querySelectorAll("mark").forEach((node) => node.replaceWith(node.textContent.replace(/\\u00a0$/, "")));
            found.push({ text, answer, reply: turn.reply, grounds: laid.tokens.map((token) => token.ground),
              threshold: laid.threshold, asked: more.threshold ?? value, bubble: request ? bubble.textContent : text,
              why: request ? why(request, model) : "", state: request?.state ?? null,
              words: laid.tokens.map((token) => text.slice(token.from, token.to)),
              spans: laid.spans.map((span) => laid.tokens.slice(span.first, span.last).map((token) => token.text)) });
          }
        }
        done(found);
      })().catch((error) => done(String(error)));
    """
    page.driver.set_script_timeout(120)
    found = page.driver.execute_async_script(script, texts)
    assert isinstance(found, list), found
    for laid in found:
        answer, tokens = laid["answer"], laid["answer"]["tokens"]
        assert laid["words"] == [token["text"] for token in tokens], laid
        within = lambda span: [t["text"] for t in tokens if span["start"] <= t["start"] and t["end"] <= span["end"]]
        assert laid["spans"] == [within(span) for span in answer["spans"]], laid
        assert not tokens or abs(laid["threshold"] - laid["asked"]) < 1e-9, laid
        for token, ground in zip(tokens, laid["grounds"]):
            # What is not unknown never looks as if it were over the threshold; what is remembered is not unknown any more.
            assert (ground >= 3) == token["label"].endswith("-unknown"), (token, laid)
            assert ground < 3 or token["unknown"], (token, laid)
        assert laid["bubble"].split() == laid["text"].split(), laid
        assert "undefined" not in laid["why"] and "NaN" not in laid["why"], laid
        assert (laid["state"] == "ask") == (laid["reply"]["outcome"] == "ask"), laid
        assert laid["state"] != "ask" or laid["why"], laid
    assert {laid["state"] for laid in found} >= {"act", "ask"}


def answers_are_copied(page):
    page.cdp("Browser.grantPermissions", permissions=["clipboardReadWrite", "clipboardSanitizedWrite"])
    page.say("Don't wake me at six!")
    page.one("#details summary").click()
    read = "navigator.clipboard.readText().then(arguments[0])"
    page.one("#copy-json").click()
    wait(lambda: "clipboard" in page.texts("#copied")[0], "the copy")
    turn = json.loads(page.driver.execute_async_script(read))
    assert turn["annotation"]["text"] == "Don't wake me at six!"
    page.one("#copy-curl").click()
    wait(lambda: "command" in page.texts("#copied")[0], "the command")
    command = page.driver.execute_async_script(read)
    assert command.startswith("curl -s 'http://127.0.0.1"), command
    again = subprocess.run(["bash", "-c", command], check=True, capture_output=True, text=True)
    assert json.loads(again.stdout)["annotation"]["tokens"] == turn["annotation"]["tokens"], again.stdout


def the_slider_acts_on_the_conversation(page):
    model = page.server.call("GET", "/v1/model")
    means = lambda: page.texts("#dial-means")[0]
    assert "as the model was made to" in means() and "requests" in means(), means()
    page.spy()
    page.say(KNOWN)
    assert page.state() == "Understood" and "act_from" not in page.sent()
    slider = page.one("#asks")
    slider.send_keys(Keys.END)
    assert means() == ("Every request is asked about." if model["trust"]["asked"][20] >= 0.995 else means())
    assert "asked about" in slider.get_attribute("aria-valuetext")
    n = page.count(".meno")
    page.one("#dial-again").click()
    wait(lambda: page.count(".meno") > n, "the last request said again")
    assert page.sent()["act_from"] == 1 and page.texts(".you")[-1].startswith(KNOWN.split()[0])
    assert page.state() == "Needs one answer", "with this it asks about what it acted upon before"
    page.say("never mind")
    slider.send_keys(Keys.HOME)
    share = model["trust"]["asked"][0]
    assert (f"1 in {round(1 / share)} " in means()) if share >= 0.0005 else ("hardly any" in means().lower()), means()
    page.say(KNOWN)
    assert page.sent()["act_from"] == 0 and page.state() == "Understood"
    page.reload()
    assert page.one("#asks").get_attribute("value") == "0", "a reload leaves it where it was"
    page.one("#dial-reset").click()
    assert "as the model was made to" in means() and page.focused().get_attribute("id") == "asks"
    assert not page.one("#dial-reset").is_displayed()


def a_model_that_judges_words_has_a_slider_too(page):
    assert page.server.call("GET", "/v1/model")["trust"] is None
    assert page.texts("#dial-means")[0] == "As the model was made to ask."
    page.spy()
    page.one("#asks").send_keys(Keys.END)
    assert "asks more" in page.texts("#dial-means")[0].lower()
    page.say(KNOWN)
    assert "threshold" in page.sent() and page.state() == "Needs one answer", page.sent()
    page.say("never mind")
    page.one("#asks").send_keys(Keys.HOME)
    page.say(KNOWN)
    assert page.state() == "Understood"


def a_model_that_counted_no_questions_has_a_slider_without_the_sentence(page):
    old = page.cdp("Page.addScriptToEvaluateOnNewDocument", source="""
      const real = window.fetch;
      window.fetch = async (path, request) => {
        const response = await real(path, request);
        if (!String(path).endsWith("/v1/model")) return response;
        const model = await response.json();
        if (model.trust) model.trust.asked = [];
        delete model.description;
        return new Response(JSON.stringify(model), { status: 200 });
      };
    """)["identifier"]
    try:
        page.open()
        assert page.texts("#dial-means")[0] == "As the model was made to ask."
        page.one("#asks").send_keys(Keys.ARROW_LEFT)
        assert page.texts("#dial-means")[0] == "Asks less than it was made to."
        page.say(NEW)
        assert page.state() in ["Understood", "Needs one answer"]
    finally:
        page.cdp("Page.removeScriptToEvaluateOnNewDocument", identifier=old)


def a_turn_that_was_not_taken_can_be_sent_again(page):
    with Away(page):
        page.one("#turn").send_keys(KNOWN, Keys.ENTER)
        wait(page.one("#failed").is_displayed, "that it failed")
        assert "cannot be reached" in page.one("#failed").text and "still in the box" in page.one("#failed").text
        assert page.one("#turn").get_attribute("value") == KNOWN and page.count(".turn") == 0
    page.one("#again").click()
    wait(lambda: page.count(".turn") == 1, "the turn")
    assert not page.one("#failed").is_displayed() and page.one("#turn").get_attribute("value") == ""
    assert page.state() == "Understood"
    # So it is with an answer that is pressed.
    page.say(NEW)
    with Away(page):
        page.one("#log .chips button").click()
        wait(page.one("#failed").is_displayed, "that it failed")
        assert page.one("#turn").get_attribute("value") and page.count("#log .chips") == 1
    page.press(Keys.ENTER)
    wait(lambda: "remember" in page.reply(), "the promise")


def a_busy_server_says_when(page):
    page.run("""
      window.real = window.fetch;
      window.fetch = async () => new Response(JSON.stringify({ error: { code: "busy", message: "1024 requests wait already",
        hint: "try again later" } }), { status: 429, headers: { "retry-after": "3" } });
    """)
    page.one("#turn").send_keys(KNOWN, Keys.ENTER)
    wait(page.one("#failed").is_displayed, "that it failed")
    assert "1024 requests wait already" in page.one("#failed").text and "in 3 seconds" in page.one("#failed").text
    page.run("window.fetch = window.real")
    page.one("#again").click()
    wait(lambda: page.count(".turn") == 1, "the turn")


def a_slow_server_is_waited_for(page):
    page.run("""
      const real = window.fetch;
      window.fetch = async (...request) => { await new Promise((done) => setTimeout(done, 1200)); return real(...request); };
    """)
    page.one("#turn").send_keys(KNOWN, Keys.ENTER)
    wait(lambda: "Waiting" in page.texts("#waiting")[0], "the word that it waits")
    page.press("x", Keys.ENTER)
    wait(lambda: page.count(".turn") == 1, "the turn")
    time.sleep(0.3)
    assert page.texts("#waiting") == [""] and page.count(".turn") == 1, "it is sent once"


def the_conversation_outlives_a_reload(page):
    page.say(KNOWN)
    page.say(NEW)
    before = page.texts(".turn, .meno"), page.form(), page.chips()
    page.reload()
    wait(lambda: page.count("#log .chips"), "the question")
    assert (page.texts(".turn, .meno"), page.form(), page.chips()) == before
    assert "remember" in page.say("a place")
    page.one("#anew").click()
    assert page.count(".turn") == 0 and page.state() == "Listening"
    page.reload()
    assert page.count(".turn") == 0
    assert "remember" not in page.say("a place"), "the question is forgotten"


def what_was_taught_is_found_changed_and_taken_back(page):
    teach(page)
    page.view("memory")
    wait(lambda: page.rows() == [NEW_PHRASE], "the concept")
    learnt = page.texts("#concepts .learnt")[0]
    assert "weather in" in learnt and page.texts("#concepts .learnt strong")[0].lower() == NEW_PHRASE.lower(), learnt
    for phrase, slot, value in [("Red Moon", "media", ""), ("Zumba Hut", "place", "the gym on Elm Street")]:
        for field, text in [("phrase", phrase), ("slot", slot), ("value", value)]:
            page.one(f"#add-{field}").send_keys(text)
        page.one("#add button").click()
        wait(lambda: phrase in page.rows(), phrase)
    assert page.texts("#memory-count") == ["3"] or wait(lambda: page.texts("#memory-count") == ["3"], "the count")
    page.one("#search").send_keys("zumba")
    wait(lambda: page.rows() == ["Zumba Hut"], "what was searched for")
    page.one("#concepts .actions button").click()
    assert page.focused().get_attribute("aria-label") == "Phrase"
    page.press(Keys.END, " Deluxe", Keys.ENTER)
    wait(lambda: page.rows() == ["Zumba Hut Deluxe"], "the other phrase")
    assert page.texts("#concepts .value-of") == ["the gym on Elm Street"]
    page.one("#undo").click()
    wait(lambda: page.rows() == ["Zumba Hut"], "the phrase of before")
    page.one("#search").send_keys("nothing like it")
    wait(lambda: page.rows() == [], "an empty table")
    assert "Nothing of that kind" in page.one("#no-concepts").text
    page.one("#search").clear()
    page.one("#search").send_keys(" ")
    wait(lambda: len(page.rows()) == 3, "all of it")
    page.one("#concepts .actions button:nth-child(2)").click()
    wait(lambda: NEW_PHRASE not in page.rows(), "what was deleted to be gone")
    wait(lambda: page.focused().get_attribute("id") == "undo", "the focus on undo")
    assert "Forgot" in page.one("#done").text
    page.press(Keys.SPACE)
    wait(lambda: NEW_PHRASE in page.rows(), "the concept to be back")
    # What a turn taught can be taken back where it was said.
    page.view("talk")
    page.one(".note button").click()
    wait(lambda: page.texts(".note")[0].endswith("forgotten"), "it to be forgotten")


def what_was_taught_is_taken_out_and_in(page):
    folder = Path(tempfile.mkdtemp())
    page.cdp("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(folder))
    page.view("memory")
    page.one("#export").click()
    wait(lambda: "nothing to export" in page.one("#done").text, "that there is nothing")
    page.view("talk")
    teach(page)
    page.view("memory")
    wait(lambda: page.rows() == [NEW_PHRASE], "the concept")
    page.one("#export").click()
    file = folder / "taught.jsonl"
    wait(file.exists, "the file")
    page.view("data")
    page.one("#export-corpus").click()
    wait((folder / "learnt.jsonl").exists, "the data to train on")
    assert "tokens" in json.loads((folder / "learnt.jsonl").read_text())
    page.server.forget_all()
    page.open("#memory")
    wait(lambda: "Nothing was taught" in page.one("#no-concepts").text, "an empty memory")
    page.one("#import-file").send_keys(str(file))
    wait(lambda: page.rows() == [NEW_PHRASE], "the concept to be back")
    assert "Imported 1 from taught.jsonl, 1 of them new" in page.one("#done").text
    assert "weather in" in page.texts("#concepts .learnt")[0], "where it was learnt comes along"
    (folder / "bad.jsonl").write_text('{"phrase": "x"}\n')
    page.one("#import-file").send_keys(str(folder / "bad.jsonl"))
    wait(page.one("#trouble").is_displayed, "what is wrong")
    assert "missing field" in page.one("#trouble").text
    page.errors()  # That it was refused is what was tested.
    shutil.rmtree(folder)


def markup_is_text(page):
    scripts = page.count("script")
    page.view("memory")
    page.one("#add-phrase").send_keys(EVIL)
    page.one("#add-slot").send_keys("media")
    page.one("#add-value").send_keys(f"<img src=x onerror=alert(2)>{EVIL}")
    page.one("#add button").click()
    wait(lambda: page.rows() == [EVIL], "the concept as text")
    page.view("talk")
    page.say(f"play {EVIL} tomorrow")
    page.say(EVIL)
    assert EVIL in page.texts(".you")[-1]
    page.one("#details summary").click()
    page.reload()
    assert page.count("script") == scripts and page.count("main img") == 0
    try:
        page.driver.switch_to.alert
        raise AssertionError("a script of a concept was run")
    except NoAlertPresentException:
        pass


def what_can_be_said_is_told(page):
    train = set((REPOSITORY / "data/concepts/train/seq.in").read_text().lower().splitlines())
    greeting = page.chips()
    assert len(greeting) >= 3 and all(text.lower() in train for text in greeting), greeting
    page.pressed("#log .chips button")
    assert page.texts(".you")[0].lower().startswith(greeting[0].lower().split()[0])
    page.one(".about a").click()
    wait(page.one("#data-view").is_displayed, "what can be said")
    model = page.server.call("GET", "/v1/model")
    assert page.count(".saying") == len(model["intents"])
    assert all(text.lower() in train for text in page.texts(".saying button"))
    assert len(page.texts("#kinds dt")) == len(model["slots"])
    page.one("#search-sayings").send_keys("weather")
    wait(lambda: 0 < page.count(".saying") < len(model["intents"]), "what was searched for")
    n = page.count(".meno")
    page.one(".saying button").click()
    wait(lambda: page.count(".meno") > n, "it to be said")
    assert page.one("#talk-view").is_displayed()
    assert page.one("#openapi").get_attribute("href") == f"{page.server.address}/openapi.json"
    examples = page.say("help")
    assert "for example" in examples, examples


def everything_works_without_a_mouse(page):
    from_the_top = "document.body.tabIndex = -1; document.body.focus(); document.body.removeAttribute('tabindex')"
    page.run(from_the_top)
    page.press(Keys.TAB)
    assert page.focused().text == "Skip to what you say"
    page.press(Keys.ENTER)
    assert page.focused().get_attribute("id") == "turn"
    page.press(NEW, Keys.ENTER)
    wait(lambda: page.state() == "Needs one answer", "a question")
    assert page.focused().get_attribute("id") == "turn"
    ring = page.run("return getComputedStyle(document.querySelector('.say')).outlineStyle")
    assert ring == "solid", "the focus shows"
    page.press("1")
    wait(lambda: "remember" in page.reply(), "the promise")
    page.press(Keys.ARROW_UP)
    assert page.one("#turn").get_attribute("value"), "what was said last comes back"
    reached = []
    page.run(from_the_top)
    for _ in range(30):
        page.press(Keys.TAB)
        reached.append(page.run("const at = document.activeElement; return at.id || at.hash || at.tagName + at.className"))
    for stop in ["#memory", "#data", "#settings", "turn", "anew", "SUMMARY", "asks"]:
        assert stop in reached, f"{stop} in {reached}"
    page.focus("nav a[href='#memory']")
    page.press(Keys.ENTER)
    wait(lambda: page.focused().get_attribute("id") == "memory-title", "the focus in the other part")
    wait(lambda: page.rows() == [NEW_PHRASE], "the concept")
    assert page.one("nav [aria-current=page]").text.startswith("Memory")


def speech_is_off_until_it_is_wanted(page):
    fake = page.cdp("Page.addScriptToEvaluateOnNewDocument", source="""
      window.said = [];
      window.SpeechRecognition = class {
        start() { window.heard = (transcript, isFinal) => {
          const result = [{ transcript }]; result.isFinal = isFinal; this.onresult({ results: [result] });
          if (isFinal) this.onend(); }; }
        stop() { this.onend(); }
      };
      Object.defineProperty(window, "speechSynthesis", { value: {
        cancel() {}, speak(utterance) { window.said.push(utterance.text); } } });
    """)["identifier"]
    try:
        page.open()
        assert not page.one("#listen").is_displayed()
        page.say(KNOWN)
        assert page.run("return window.said") == []
        page.view("settings")
        assert "may send the sound of your voice to its maker" in page.one("#speech").text
        page.one("#hear").click()
        page.one("#speak").click()
        page.open("#talk")
        page.one("#listen").click()
        assert page.one("#listen").get_attribute("aria-pressed") == "true"
        page.run("window.heard('play some', false)")
        assert page.one("#turn").get_attribute("value") == "play some"
        n = page.count(".meno")
        page.run("window.heard(arguments[0], true)", KNOWN)
        wait(lambda: page.count(".meno") > n, "a reply to what was spoken")
        assert page.run("return window.said") == [page.reply()], page.run("return window.said")
        assert page.one("#listen").get_attribute("aria-pressed") == "false"
    finally:
        page.cdp("Page.removeScriptToEvaluateOnNewDocument", identifier=fake)


def nothing_is_asked_of_others(page):
    page.say(NEW)
    script = "return performance.getEntriesByType('resource').map((entry) => entry.name)"
    others = [name for name in page.run(script) if not name.startswith((page.server.address, "data:"))]
    assert others == []


def fill(page):
    """A conversation, and concepts, of all sorts and lengths."""
    page.server.call("POST", "/v1/concepts", {"phrase": "mops and mandolins", "slot": "media", "value": "the Monday mix"})
    page.server.call("POST", "/v1/concepts", {"phrase": "x" * 90, "slot": "item"})
    page.open()
    page.say(KNOWN)
    page.say(f"play {'y' * 120} in the kitchen")
    page.say("never mind")
    page.say("Wake me at six with Snugglebarn!")
    wait(lambda: page.count("#log .chips"), "a question")


def is_good_to_look_at(page):
    """No violation that axe-core knows of, in light and dark, wide and narrow; nothing to scroll sideways for on a phone."""
    axe = next(Path(sys.prefix).glob("lib/python*/site-packages/axe_playwright_python/axe.min.js")).read_text()
    fill(page)
    for name, width, height, theme, scale in [("light", 1280, 900, "light", 1), ("dark", 1280, 900, "dark", 1),
                                              ("phone", 360, 740, "light", 2), ("phone-dark", 320, 700, "dark", 2)]:
        page.size(width, height, scale)
        page.media(prefers_color_scheme=theme)
        for view in ["talk", "details", "memory", "data", "settings"]:
            page.view("talk" if view == "details" else view)
            if view == "memory":
                wait(lambda: len(page.rows()) == 2, "the concepts")
            page.run("document.getElementById('details').open = arguments[0]", view == "details")
            time.sleep(0.3)
            sizes = "const root = document.documentElement; return [root.scrollWidth, root.clientWidth]"
            scroll, client = page.run(sizes)
            assert scroll <= client, f"{view}, {name}: {scroll} > {client}"
            page.run(axe)
            run = "axe.run({ runOnly: ['wcag2a', 'wcag2aa', 'wcag21aa', 'best-practice'] }).then(arguments[0])"
            result = page.driver.execute_async_script(run)
            violations = [(v["id"], [node["html"][:120] for node in v["nodes"]]) for v in result["violations"]]
            assert violations == [], f"{view}, {name}: {violations}"
            page.picture(f"{view}-{name}.png")
    page.media()
    page.cdp("Emulation.clearDeviceMetricsOverride")
    page.view("settings")
    ground = "return getComputedStyle(document.body).backgroundColor"
    seen = set()
    for theme in ["light", "dark"]:
        page.one(f"[name=theme][value={theme}]").click()
        seen.add(page.run(ground))
    assert len(seen) == 2, "the setting changes light and dark"
    page.view("talk")
    page.media(prefers_reduced_motion="reduce")
    page.one("#details summary").click()
    assert page.run("return getComputedStyle(document.querySelector('.word')).transitionDuration") in ["0s", ""]
    page.media()


def on_a_phone_the_conversation_comes_first(page):
    page.size(360, 740, 2)
    page.open()
    box = "const at = document.querySelector(arguments[0]).getBoundingClientRect(); return [at.top, at.bottom]"
    top, bottom = page.run(box, ".say")
    assert 370 < top < bottom <= 740, "the box is at the bottom of the screen"
    assert page.run(box, "#request")[0] > bottom, "what is made of it comes after"
    page.say(KNOWN)
    page.say(NEW)
    wait(lambda: page.count("#log .chips"), "a question")
    time.sleep(0.2)
    composer, chips = page.run(box, ".composer"), page.run(box, "#log .chips")
    assert chips[1] <= composer[0] + 12 and composer[1] <= 741, f"the answers are in sight: {chips} {composer}"
    page.cdp("Emulation.clearDeviceMetricsOverride")


def a_token_is_asked_for_once(page):
    """On a server with tokens."""
    dialog = page.one("#token-dialog")
    wait(dialog.is_displayed, "the dialog")
    page.errors()  # That the requests were refused is what is tested.
    page.one("#token").send_keys("wrong", Keys.ENTER)
    wait(lambda: page.one("#token").is_displayed() and page.one("#token").get_attribute("value") == "", "the dialog again")
    page.one("#token").send_keys(page.server.token, Keys.ENTER)
    page.is_there()
    page.errors()
    page.say(NEW)
    page.cdp("Browser.grantPermissions", permissions=["clipboardReadWrite", "clipboardSanitizedWrite"])
    page.one("#details summary").click()
    page.one("#copy-curl").click()
    wait(lambda: "command" in page.texts("#copied")[0], "the command")
    command = page.driver.execute_async_script("navigator.clipboard.readText().then(arguments[0])")
    assert "$TOKEN" in command and page.server.token not in command
    page.reload()
    assert not page.one("#token-dialog").is_displayed() and page.count(".turn") == 1
    assert page.errors() == []
    page.view("settings")
    page.one("#forget-token").click()
    wait(page.one("#token-dialog").is_displayed, "the dialog after the token was forgotten")
    page.one("#token-cancel").click()
    wait(page.one("#trouble").is_displayed, "why nothing is there")
    # A turn that was refused stays in the box, and so does the way back.
    page.view("talk")
    page.one("#turn").send_keys("a place", Keys.ENTER)
    wait(page.one("#token-dialog").is_displayed, "the dialog for the turn")
    page.one("#token-cancel").click()
    wait(page.one("#failed").is_displayed, "that it failed")
    assert page.one("#turn").get_attribute("value") == "a place"
    page.one("#again").click()
    wait(page.one("#token-dialog").is_displayed, "the dialog once more")
    page.one("#token").send_keys(page.server.token, Keys.ENTER)
    wait(lambda: "remember" in page.reply(), "the promise")
    page.errors()


def pictures_of_the_readme(page):
    """On a server with the model of data/assistant."""
    page.cdp("Emulation.setScrollbarsHidden", hidden=True)
    page.size(1280, 860)
    page.open()
    page.say("Add Zibbly Wonk to my chill playlist")
    page.say("they're a band")
    page.say("Play Zibbly Wonk in the kitchen")
    page.say("Play Burpees and Regrets tomorrow at six")
    assert page.state() == "Needs one answer"
    wait(lambda: page.texts("#memory-count") == ["1"], "the count")
    time.sleep(0.3)
    page.picture("playground.png")
    page.size(360, 740, 2)
    page.run("window.dispatchEvent(new Event('resize')); document.getElementById('conversation').scrollIntoView({ block: 'end' })")
    time.sleep(0.3)
    page.picture("playground-phone.png")
    page.cdp("Emulation.setScrollbarsHidden", hidden=False)
    page.cdp("Emulation.clearDeviceMetricsOverride")


TESTS = [
    a_request_is_set_off_and_fills_the_form,
    it_asks_learns_and_understands_the_next_time,
    answers_are_picked_by_number,
    a_question_can_be_let_go,
    a_new_kind_waits_for_a_yes,
    what_it_cannot_do_is_said,
    a_question_about_the_intent_has_answers,
    a_question_about_words_outside_has_answers,
    numbers_are_in_the_details,
    the_page_lays_out_what_the_server_says,
    answers_are_copied,
    the_slider_acts_on_the_conversation,
    a_model_that_counted_no_questions_has_a_slider_without_the_sentence,
    a_turn_that_was_not_taken_can_be_sent_again,
    a_busy_server_says_when,
    a_slow_server_is_waited_for,
    the_conversation_outlives_a_reload,
    what_was_taught_is_found_changed_and_taken_back,
    what_was_taught_is_taken_out_and_in,
    markup_is_text,
    what_can_be_said_is_told,
    everything_works_without_a_mouse,
    speech_is_off_until_it_is_wanted,
    nothing_is_asked_of_others,
    on_a_phone_the_conversation_comes_first,
    is_good_to_look_at,
]

# On a server with a model that judges words, and on one with tokens.
WORD_TESTS = [
    the_page_lays_out_what_the_server_says,
    a_model_that_judges_words_has_a_slider_too,
]
TOKEN_TESTS = [a_token_is_asked_for_once]
PICTURES = [pictures_of_the_readme]


def run(test, page):
    try:
        if page.server.token is None:
            page.server.forget_all()
        page.driver.get(page.server.address)
        page.driver.execute_script("localStorage.clear(); sessionStorage.clear()")
        if page.server.token is None:
            page.open()
        else:
            page.driver.get("about:blank")
            page.driver.get(page.server.address)
        page.errors()
        test(page)
        errors = page.errors()
        assert errors == [], errors
    except Exception:
        page.picture(f"failed-{test.__name__}.png")
        print(f"FAILED {test.__name__}\n{traceback.format_exc()}", flush=True)
        return False
    print(f"ok     {test.__name__}", flush=True)
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("meno", type=os.path.abspath)
    parser.add_argument("model")
    parser.add_argument("words")
    parser.add_argument("out", type=Path)
    parser.add_argument("--pictures", nargs=2, metavar=("MODEL", "FOLDER"), help="the pictures of the README, by a model of data/assistant")
    parser.add_argument("--only", default="", help="tests with this in their name")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    passed, driver = [], browser()
    try:
        for model, has_tokens, tests in [
            (args.model, False, TESTS), (args.words, False, WORD_TESTS), (args.model, True, TOKEN_TESTS),
            (args.pictures and args.pictures[0], False, PICTURES if args.pictures else []),
        ]:
            tests = [test for test in tests if args.only in test.__name__]
            server = Server(args.meno, model, has_tokens) if tests else None
            try:
                passed += [run(test, Page(driver, server, args.out)) for test in tests]
            finally:
                if server:
                    server.stop()
    finally:
        driver.quit()
    print(f"{sum(passed)} of {len(passed)} passed; pictures are in {args.out}")
    if args.pictures and all(passed):
        for name in ["playground.png", "playground-phone.png"]:
            shutil.copy(args.out / name, args.pictures[1])
    sys.exit(0 if passed and all(passed) else 1)


if __name__ == "__main__":
    main()
