#!/usr/bin/env python3
"""Uses the playground as a person would, in a headless Chromium. Run by scripts/browser_test.sh.

    browser_test.py MENO MODEL WORDS OUT [--picture FILE]

MODEL judges concepts, WORDS is a model that judges words. Every test begins on a fresh page with an empty store. A test fails on an error in the browser's console too, which is where
violations of the content security policy are told.
"""

import argparse
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import traceback
import urllib.request
from pathlib import Path

from selenium import webdriver
from selenium.common.exceptions import NoAlertPresentException
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

REPOSITORY = Path(__file__).resolve().parent.parent
PATIENCE = 10  # seconds that the page has for anything

NEW = "What's the weather in Plimsoll Wharf tomorrow?"
NEW_PHRASE = "Plimsoll Wharf"
AGAIN = "Who am I meeting at Plimsoll Wharf?"
EVIL = "<script>alert(1)</script>"


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Server:
    """`meno serve` with a store of its own."""

    def __init__(self, meno, model, has_tokens=False):
        self.folder = tempfile.TemporaryDirectory()
        listen = f"127.0.0.1:{free_port()}"
        self.address = f"http://{listen}"
        command = [meno, "serve", model, "--store", f"{self.folder.name}/concepts.db", "--listen", listen]
        self.token = None
        if has_tokens:
            tokens = ["--tokens", f"{self.folder.name}/tokens.txt"]
            made = subprocess.run([meno, "token", "anna", "read,teach", *tokens], check=True, capture_output=True, text=True)
            self.token = made.stdout.strip()
            command += tokens
        self.process = subprocess.Popen(command)
        wait(self.is_ready, "the server to start")

    def is_ready(self):
        assert self.process.poll() is None, "meno serve ended"
        try:
            return urllib.request.urlopen(f"{self.address}/readyz", timeout=1).status == 200
        except OSError:
            return False

    def call(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.address + path, data, {"content-type": "application/json"}, method=method)
        with urllib.request.urlopen(request, timeout=PATIENCE) as response:
            return json.loads(response.read() or "null")

    def annotate(self, text):
        return self.call("POST", "/v1/annotate", {"text": text, "syntax": True})

    def forget_all(self):
        for concept in self.call("GET", "/v1/concepts?limit=1000")["concepts"]:
            self.call("DELETE", f"/v1/concepts/{concept['id']}")

    def stop(self):
        self.process.terminate()
        self.process.wait(timeout=PATIENCE)
        self.folder.cleanup()


def wait(condition, what):
    """Waits until something holds, and gives it."""
    end = time.monotonic() + PATIENCE
    while True:
        result = condition()
        if result:
            return result
        assert time.monotonic() < end, f"waited in vain for {what}"
        time.sleep(0.03)


class Page:
    def __init__(self, driver, server, out):
        self.driver, self.server, self.out = driver, server, out

    def open(self):
        self.driver.get(self.server.address + "/")
        wait(lambda: self.one("#model").text, "the model")

    def one(self, selector):
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def texts(self, selector):
        """What is shown, read at one moment."""
        script = "return [...document.querySelectorAll(arguments[0])].map((node) => node.innerText)"
        return self.driver.execute_script(script, selector)

    def count(self, selector):
        return len(self.all(selector))

    def type(self, text):
        field = self.one("#text")
        field.clear()
        field.send_keys(text)
        self.sees(text)

    def sees(self, text):
        """Waits until the words on the page are those of a text."""
        words = [token["text"] for token in self.server.annotate(text)["tokens"]]
        wait(lambda: self.texts(".word .form") == words, f"the words {words}")

    def shown_threshold(self):
        """The one of the answer that is shown, from what the page tells of its first word."""
        self.driver.execute_script("arguments[0].focus()", self.all(".word")[0])
        note = next(note for note in self.texts("#tip p") if note.startswith("Uncertainty"))
        return float(note.split("threshold ")[1].split(":")[0].rstrip("."))

    def say(self, text):
        field = self.one("#turn")
        field.send_keys(text, Keys.ENTER)

    def replies(self):
        return self.texts(".turn.meno p:first-of-type")

    def rows(self):
        return self.texts("#concepts .phrase")

    def press(self, *keys):
        ActionChains(self.driver).send_keys(*keys).perform()

    def focused(self):
        return self.driver.switch_to.active_element

    def picture(self, name):
        path = self.out / name
        self.driver.save_screenshot(str(path))
        return path

    def errors(self):
        return [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] == "SEVERE"]


def teach(page):
    """Says the new thing, and explains it when asked; leaves the page when it is in the table."""
    page.type(NEW)
    page.one("#say button").click()
    wait(lambda: "What is" in page.replies()[-1], "a question")
    assert NEW_PHRASE in page.replies()[-1], page.replies()
    page.say("it's a place")
    wait(lambda: page.rows() == [NEW_PHRASE], "the concept in the table")


# ------------------------------------------------------------------------------------------------ tests


def words_are_tinted_and_labelled_as_one_types(page):
    text = "Wake me at six with Snugglebarn!"
    field = page.one("#text")
    for char in text:
        field.send_keys(char)
    page.sees(text)
    answer = page.server.annotate(text)
    assert page.texts(".word .label") == [token["label"] for token in answer["tokens"]]
    unknown = [token["text"] for token in answer["tokens"] if token["label"].endswith("-unknown")]
    assert unknown and page.texts(".word.is-unknown .form") == unknown
    hot = page.all(".word.heat-3, .word.heat-4, .word.heat-5")
    assert len(hot) == len(unknown), "what is over the threshold is hot"
    assert page.count(".span") == len(answer["spans"])
    assert all("unknown" in name for name in page.texts(".span.is-unknown .slot"))
    assert page.one("#decision").text == answer["decision"] == "ask"
    assert answer["spans"][answer["about"]["span"]]["text"] in page.one("#reason").text
    assert page.one("#intent").text == answer["intent"]["name"]
    assert page.one("#intent-score").text == f"{round(100 * answer['intent']['probability'])} %"
    arcs = sum(word["head"] is not None for word in answer["parse"])
    assert page.count("#arcs .arrow") == len(answer["tokens"]) and page.count("#arcs .arc") == arcs + 1


def runners_up_are_shown_on_hover_and_focus(page):
    page.type("Wake me at six with Snugglebarn!")
    token = next(token for token in page.server.annotate(page.one("#text").get_attribute("value"))["tokens"] if token["unknown"])
    word = page.one(".word.is-unknown")
    ActionChains(page.driver).move_to_element(word).perform()
    tip = page.one("#tip")
    wait(tip.is_displayed, "the runners-up")
    labels = [token["first_choice"], *(up["label"] for up in token["reason"]["runners_up"])]
    assert page.texts("#tip li .name") == labels
    page.press(Keys.ESCAPE)
    assert not tip.is_displayed()
    page.driver.execute_script("arguments[0].focus()", page.all(".word")[0])
    wait(tip.is_displayed, "the tip of the focused word")
    assert page.focused().get_attribute("aria-describedby") == "tip"


def the_page_lays_out_what_the_server_says(page):
    texts = (REPOSITORY / "data/concepts/new/seq.in").read_text().splitlines()[:150]
    texts += ["Weck mich, Jürgen – 日本語 🎵 naïve café!", "  wake   me\tat six  ", "🎵", "ﬁ ﬂ e\u0301", "call Zoë’s mom"]
    page.server.call("POST", "/v1/concepts", {"phrase": "the harvest supper", "slot": "item", "value": "supper"})
    page.server.call("POST", "/v1/concepts", {"phrase": "Zoë’s mom", "slot": "person"})
    script = """
      const [texts, done] = arguments;
      const post = async (request) => (await fetch("/v1/annotate", {
        method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(request) })).json();
      (async () => {
        const { laidOut } = await import("/page/answer.js");
        const { reason } = await import("/page/words.js");
        const model = await (await fetch("/v1/model")).json();
        const { value, median } = model.threshold;
        const found = [];
        for (const text of texts) for (const more of [{}, { threshold: (value + median) / 2 }, { threshold: median - 1 }]) {
          const answer = await post({ text, ...more });
          const laid = laidOut(answer, model);
          found.push({ text, answer, grounds: laid.tokens.map((token) => token.ground), threshold: laid.threshold,
            asked: more.threshold ?? value, words: laid.tokens.map((token) => text.slice(token.from, token.to)),
            about: laid.about?.text, reason: reason(laid, model),
            spans: laid.spans.map((span) => laid.tokens.slice(span.first, span.last).map((token) => token.text)) });
        }
        done(found);
      })().catch((error) => done(String(error)));
    """
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
        assert laid["reason"] and "undefined" not in laid["reason"] and "NaN" not in laid["reason"], laid
        if answer["decision"] == "ask":
            about = answer["about"]
            if "span" in about:
                assert laid["about"] == answer["spans"][about["span"]]["text"], laid
            asked = about["intent"] if "intent" in about else laid["about"]
            assert asked in laid["reason"], laid
    assert {laid["answer"]["decision"] for laid in found} >= {"act", "ask"}


def an_answer_that_comes_late_is_dropped(page):
    page.driver.execute_script("""
      const real = window.fetch;
      window.fetch = async (path, request) => {
        const isSlow = String(path).endsWith("/v1/annotate") && request.body.includes("slow");
        if (isSlow) { delete request.signal; await new Promise((resume) => setTimeout(resume, 700)); window.cameLate = true; }
        return real(path, request);
      };
    """)
    page.one("#text").send_keys("wake me slow")
    time.sleep(0.3)  # The field waits for a pause of 0.1 s before it asks.
    page.type("wake me at six")
    wait(lambda: page.driver.execute_script("return window.cameLate"), "the late answer")
    time.sleep(0.3)
    assert page.texts(".word .form") == ["wake", "me", "at", "six"]


def it_asks_learns_and_understands_the_next_time(page):
    page.type(NEW)
    page.one("#say button").click()
    wait(lambda: page.count("#options button"), "answers to choose from")
    assert f"What is {NEW_PHRASE}" in page.replies()[-1], page.replies()
    offered = page.texts("#options button")
    assert offered[-1] == "never mind" and len(offered) > 1, offered
    page.all("#options button")[0].click()
    wait(lambda: "I will remember" in page.replies()[-1], "the promise to remember")
    wait(lambda: page.rows() == [NEW_PHRASE], "the concept in the table")
    slot = page.texts("#concepts td:nth-child(2)")[0]
    assert slot.replace("_", " ") == offered[0]
    wait(lambda: page.count(".span.is-recalled"), "the sentence to be read again")
    page.type(AGAIN)
    assert page.texts(".span.is-recalled .form") == NEW_PHRASE.split()
    assert "remembered" in page.one(".span.is-recalled .slot").text
    assert page.one("#decision").text == "act" and "is remembered as" in page.one("#reason").text
    page.one("#say button").click()
    wait(lambda: NEW_PHRASE in page.replies()[-1] and "What is" not in page.replies()[-1], "an answer without a question")


def what_was_learnt_is_deleted_and_brought_back(page):
    teach(page)
    page.type(AGAIN)
    assert page.count(".span.is-recalled") == 1
    page.one("#concepts .actions button:nth-child(2)").click()
    wait(lambda: page.rows() == [], "the table to be empty")
    wait(lambda: page.count(".span.is-recalled") == 0, "the phrase to be forgotten")
    assert "Forgot" in page.one("#done").text and page.one("#no-concepts").is_displayed()
    page.one("#undo").click()
    wait(lambda: page.rows() == [NEW_PHRASE], "the concept to be back")
    wait(lambda: page.count(".span.is-recalled") == 1, "the phrase to be known again")
    page.one("#undo").click()
    wait(lambda: page.rows() == [], "the lesson itself to be undone")


def concepts_are_added_searched_and_edited(page):
    for phrase, slot, value in [("Red Moon", "media", ""), ("Zumba Hut", "place", "the gym on Elm Street")]:
        for field, text in [("phrase", phrase), ("slot", slot), ("value", value)]:
            page.one(f"#add-{field}").send_keys(text)
        page.one("#add button").click()
        wait(lambda: phrase in page.rows(), phrase)
    page.one("#search").send_keys("zumba")
    wait(lambda: page.rows() == ["Zumba Hut"], "what was searched for")
    page.one("#concepts .actions button").click()
    assert page.focused().get_attribute("aria-label") == "Phrase"
    page.press(Keys.END, " Deluxe", Keys.ENTER)
    wait(lambda: page.rows() == ["Zumba Hut Deluxe"], "the other phrase")
    assert page.texts("#concepts td:nth-child(3)") == ["the gym on Elm Street"]
    page.one("#search").send_keys("nothing like it")
    wait(lambda: page.rows() == [], "an empty table")
    assert "Nothing of that kind" in page.one("#no-concepts").text


def markup_in_a_concept_is_text(page):
    scripts = page.count("script")
    for text, value in [(EVIL, f"<img src=x onerror=alert(2)>{EVIL}")]:
        page.one("#add-phrase").send_keys(text)
        page.one("#add-slot").send_keys("media")
        page.one("#add-value").send_keys(value)
        page.one("#add button").click()
    wait(lambda: page.rows() == [EVIL], "the concept as text")
    page.type(f"play {EVIL} tomorrow")
    page.one("#say button").click()
    wait(lambda: len(page.replies()) == 2, "a reply")
    page.say(EVIL)
    wait(lambda: len(page.replies()) == 3, "another reply")
    assert EVIL in page.texts(".turn.you")[-1]
    assert page.count("script") == scripts and page.count("main img") == 0
    try:
        page.driver.switch_to.alert
        raise AssertionError("a script of a concept was run")
    except NoAlertPresentException:
        pass


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


def plain(name):
    return name.split(".")[-1].replace("_", " ")


def choices_of(answer):
    return [f"{plain(option['name'])} {round(100 * option['probability'])} %" for option in answer["about"]["options"]]


def a_question_about_the_intent_has_buttons(page):
    text, answer = question_about(page.server, "intent")
    page.type(text)
    assert page.one("#decision").text == answer["decision"] == "ask"
    assert all(option["name"] in page.one("#reason").text for option in answer["about"]["options"])
    assert page.texts("#choices button") == choices_of(answer)
    assert page.count(".word.is-asked") == 0
    chosen = answer["about"]["options"][-1]["name"]
    page.all("#choices button")[-1].click()
    wait(lambda: page.texts(".turn.you") and plain(chosen) in page.texts(".turn.you")[-1], "the answer to be said")
    assert page.focused().get_attribute("id") == "turn"
    wait(lambda: len(page.replies()) == 3, "the reply to the answer")
    assert page.replies()[1].startswith("Did you mean") and page.replies()[2].startswith(chosen), page.replies()


def a_question_about_words_outside_has_buttons(page):
    text, answer = question_about(page.server, "outside")
    about = answer["about"]
    phrase = text.encode()[about["start"]:about["end"]].decode()
    page.type(text)
    assert page.one("#decision").text == answer["decision"] == "ask"
    assert phrase in page.one("#reason").text
    assert page.texts("#choices button") == choices_of(answer)
    assert page.texts(".word.is-asked .form") == phrase.split()
    slot = about["options"][0]["name"]
    page.all("#choices button")[0].click()
    wait(lambda: page.rows() == [phrase], "the concept in the table")
    assert page.texts("#concepts td:nth-child(2)") == [slot]
    wait(lambda: page.texts(".span.is-recalled .form") == phrase.split(), "the sentence to be read again")
    # The rest is read anew, and may be asked about then.
    assert not set(page.texts(".word.is-asked .form")) & set(phrase.split())


def how_sure_it_is_stands_in_the_details(page):
    text = "Wake me at six with Snugglebarn!"
    answer = page.server.annotate(text)
    page.type(text)
    of = lambda share: f"confidence {round(100 * share)} %"
    assert page.one("#confidence").text == of(answer["confidence"])
    assert page.one("#intent-confidence").text == of(answer["intent"]["confidence"])
    span, outside = answer["spans"][0], answer["outside"][0]
    for part, name in [(span, span["guess"]["slot"]), (outside, "in no slot")]:
        word = next(i for i, token in enumerate(answer["tokens"]) if token["start"] == part["start"])
        page.driver.execute_script("arguments[0].focus()", page.all(".word")[word])
        note = f"Confidence that “{part['text']}” is {name}: {round(100 * part['confidence'])} %."
        wait(lambda: note in page.texts("#tip p"), note)


def the_slider_moves_the_threshold(page):
    page.type("Remind me to call my sister tomorrow morning.")
    before, decision = page.texts(".word .label"), page.one("#decision").text
    assert page.texts("#changes li") == []
    slider = page.one("#threshold")
    slider.send_keys(Keys.HOME)
    changes = wait(lambda: page.texts("#changes li"), "what another threshold changes")
    assert page.one("#decision").text == "ask" and page.count(".word.is-unknown") > 0
    assert any(change.endswith("→ unknown") for change in changes), changes
    if decision == "act":
        assert "decision: act → ask" in changes
    text, threshold = page.one("#text").get_attribute("value"), page.shown_threshold()
    answer = page.server.call("POST", "/v1/annotate", {"text": text, "threshold": threshold})
    assert page.texts(".word .label") == [token["label"] for token in answer["tokens"]]
    slider.send_keys(Keys.END)
    wait(lambda: page.count(".word.is-unknown") == 0, "everything to be known")
    assert page.one("#decision").text == "act" and not page.one("#choices").is_displayed()
    assert page.one("#stated").is_displayed() == page.one("#confidence-row").is_displayed()
    page.type(NEW)
    wait(lambda: page.one("#decision").text == "act", "the threshold to be that of the slider for another sentence")
    is_asked = page.server.annotate(NEW)["decision"] == "ask"
    assert ("decision: ask → act" in page.texts("#changes li")) == is_asked, page.texts("#changes li")
    page.type("Remind me to call my sister tomorrow morning.")
    page.one("#threshold-reset").click()
    wait(lambda: page.texts(".word .label") == before, "the labels of before")
    assert page.one("#decision").text == decision
    assert "the model’s own" in page.one("#threshold-value").text and page.texts("#changes li") == []
    assert page.focused().get_attribute("id") == "threshold"


def the_slider_asks_the_server_as_it_rests(page):
    """Not for every step; a late answer is dropped; that it waits is said when it is slow."""
    page.type("Remind me to call my sister tomorrow morning.")
    page.driver.execute_script("""
      const real = window.fetch;
      window.asked = [];
      window.delay = 0;
      window.fetch = async (path, request) => {
        const { threshold } = JSON.parse(request?.body ?? "{}");
        if (threshold === undefined) return real(path, request);
        const delay = window.delay;
        window.asked.push(threshold);
        delete request.signal;
        const response = await real(path, request);
        await new Promise((resume) => setTimeout(resume, delay));
        window.arrived = threshold;
        return response;
      };
    """)
    asked = lambda: page.driver.execute_script("return window.asked")
    arrived = lambda: page.driver.execute_script("return window.arrived")
    waiting = lambda: page.texts("#waiting")[0]
    slider = page.one("#threshold")
    move = """
      const slider = document.getElementById("threshold");
      for (const value of arguments[0]) { slider.value = value; slider.dispatchEvent(new Event("input")); }
    """
    page.driver.execute_script(move, list(range(200, 0, -4)))
    wait(arrived, "an answer")
    time.sleep(0.3)
    assert len(asked()) == 1 and waiting() == "", asked()
    # The first of two answers comes last.
    page.driver.execute_script("window.delay = 1200")
    slider.send_keys(Keys.HOME)
    wait(lambda: len(asked()) == 2, "a slow question")
    wait(lambda: "Waiting" in waiting(), "the word that it waits")
    assert page.one("#answer").get_attribute("aria-busy") == "true"
    page.driver.execute_script("window.delay = 0")
    slider.send_keys(Keys.END)
    wait(lambda: page.count(".word.is-unknown") == 0 and waiting() == "", "the newer answer")
    assert page.one("#answer").get_attribute("aria-busy") is None
    first = asked()[1]
    wait(lambda: arrived() == first, "the older answer")
    time.sleep(0.2)
    assert page.count(".word.is-unknown") == 0 and page.one("#decision").text == "act"


def a_slider_without_a_server_keeps_the_last_answer(page):
    page.type("Remind me to call my sister tomorrow morning.")
    before = page.texts(".word .label")
    page.driver.execute_cdp_cmd("Network.enable", {})
    page.driver.execute_cdp_cmd("Network.setBlockedURLs", {"urls": ["*/v1/*"]})
    try:
        page.one("#threshold").send_keys(Keys.HOME)
        wait(lambda: "no answer" in page.texts("#waiting")[0], "why nothing changes")
        assert page.one("#trouble").is_displayed()
        assert page.texts(".word .label") == before
    finally:
        page.driver.execute_cdp_cmd("Network.setBlockedURLs", {"urls": []})
    page.errors()  # That the requests failed is what was tested.
    page.one("#threshold").send_keys(Keys.ARROW_RIGHT)
    wait(lambda: page.texts("#changes li"), "the answer")
    assert page.texts("#waiting") == [""] and not page.one("#trouble").is_displayed()
    assert page.count(".word.is-unknown") > 0


def everything_works_without_a_mouse(page):
    page.driver.execute_script("document.activeElement.blur()")
    page.press(Keys.TAB)
    assert page.focused().text == "Skip to the sentence"
    page.press(Keys.ENTER)
    assert page.focused().get_attribute("id") == "text"
    page.press(NEW, Keys.ENTER)
    wait(lambda: page.count("#options button"), "a question")
    assert page.focused().get_attribute("id") == "turn"
    page.press("a place", Keys.ENTER)
    wait(lambda: page.rows() == [NEW_PHRASE], "the concept")
    reached = []
    page.driver.execute_script("document.getElementById('text').focus()")
    for _ in range(80):
        page.press(Keys.TAB)
        reached.append(page.driver.execute_script(
            "const at = document.activeElement; return at.id || at.className || at.innerText"))
    for stop in ["threshold", "turn", "search", "undo", "add-phrase"]:
        assert stop in reached, f"{stop} in {reached}"
    assert any(stop.startswith("word ") for stop in reached), reached
    delete = page.one("#concepts .actions button:nth-child(2)")
    page.driver.execute_script("arguments[0].focus()", delete)
    page.press(Keys.ENTER)
    wait(lambda: page.rows() == [], "the table to be empty")
    wait(lambda: page.focused().get_attribute("id") == "undo", "the focus on undo")
    page.press(Keys.SPACE)
    wait(lambda: page.rows() == [NEW_PHRASE], "the concept to be back")


def examples_fit_the_model(page):
    examples = page.all("#examples button")
    assert len(examples) >= 3
    text = examples[-1].text
    examples[-1].click()
    page.sees(text)


def a_new_conversation_forgets_the_question(page):
    page.say(NEW)
    wait(lambda: page.count("#options button"), "a question")
    page.one("#talk-new").click()
    assert page.count(".turn") == 1 and not page.one("#options").is_displayed()
    page.say("a place")
    wait(lambda: len(page.replies()) == 2, "a reply")
    assert "remember" not in page.replies()[-1] and page.rows() == []


def a_server_that_is_gone_is_told(page):
    page.driver.execute_cdp_cmd("Network.enable", {})
    page.driver.execute_cdp_cmd("Network.setBlockedURLs", {"urls": ["*/v1/*"]})
    try:
        page.one("#text").send_keys("wake me at six")
        wait(page.one("#trouble").is_displayed, "the trouble")
        assert "cannot be reached" in page.one("#trouble").text
    finally:
        page.driver.execute_cdp_cmd("Network.setBlockedURLs", {"urls": []})
    page.errors()  # That the requests failed is what was tested.
    page.one("#text").send_keys(" thirty")
    wait(lambda: not page.one("#trouble").is_displayed(), "the end of the trouble")


def nothing_is_asked_of_others(page):
    page.type(NEW)
    script = "return performance.getEntriesByType('resource').map((entry) => entry.name)"
    others = [name for name in page.driver.execute_script(script) if not name.startswith((page.server.address, "data:"))]
    assert others == []


def is_good_to_look_at(page):
    """No violation that axe-core knows of, in light and dark, wide and narrow; nothing to scroll sideways for on a phone."""
    axe = next(Path(sys.prefix).glob("lib/python*/site-packages/axe_playwright_python/axe.min.js")).read_text()
    page.server.call("POST", "/v1/concepts", {"phrase": "mops and mandolins", "slot": "media", "value": "the Monday mix"})
    page.server.call("POST", "/v1/concepts", {"phrase": "x" * 90, "slot": "item"})
    page.open()
    page.type("Wake me at six with Snugglebarn!")
    page.one("#say button").click()
    wait(lambda: page.count("#options button"), "a question")
    for name, width, height, theme, scale in [("light", 1280, 1100, "light", 1), ("dark", 1280, 1100, "dark", 1),
                                              ("phone", 390, 844, "light", 2), ("phone-dark", 320, 700, "dark", 2)]:
        is_mobile = width < 500
        metrics = {"width": width, "height": height, "deviceScaleFactor": scale, "mobile": is_mobile}
        page.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        features = [{"name": "prefers-color-scheme", "value": theme}]
        page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        time.sleep(0.3)
        sizes = "const root = document.documentElement; return [root.scrollWidth, root.clientWidth]"
        scroll, client = page.driver.execute_script(sizes)
        assert scroll <= client, f"{name}: {scroll} > {client}"
        page.driver.execute_script(axe)
        run = "axe.run({ runOnly: ['wcag2a', 'wcag2aa', 'wcag21aa', 'best-practice'] }).then(arguments[0])"
        result = page.driver.execute_async_script(run)
        violations = [(v["id"], [node["html"][:120] for node in v["nodes"]]) for v in result["violations"]]
        assert violations == [], f"{name}: {violations}"
        page.picture(f"{name}.png")
    page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    page.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    ground = "return getComputedStyle(document.body).backgroundColor"
    seen = set()
    for _ in range(3):
        page.one("#theme").click()
        seen.add(page.driver.execute_script(ground))
    assert len(seen) == 2, "the button changes light and dark"


def a_token_is_asked_for_once(page):
    """On a server with tokens."""
    dialog = page.one("#token-dialog")
    wait(dialog.is_displayed, "the dialog")
    page.errors()  # That the requests were refused is what is tested.
    page.one("#token").send_keys("wrong", Keys.ENTER)
    wait(lambda: page.one("#token").is_displayed() and page.one("#token").get_attribute("value") == "", "the dialog again")
    page.one("#token").send_keys(page.server.token, Keys.ENTER)
    wait(lambda: page.one("#model").text, "the model")
    page.errors()
    page.one("#text").send_keys("wake me at six")
    wait(lambda: page.count(".word") == 4, "the words")
    page.say(NEW)
    wait(lambda: page.count("#options button"), "a question")
    page.driver.refresh()
    wait(lambda: page.one("#model").text, "the model, without another question")
    assert not page.one("#token-dialog").is_displayed() and page.one("#forget-token").is_displayed()
    assert page.errors() == []
    page.one("#forget-token").click()
    wait(page.one("#token-dialog").is_displayed, "the dialog after the token was forgotten")
    page.one("#token-cancel").click()
    wait(page.one("#trouble").is_displayed, "why nothing is there")
    page.errors()


def picture_of_the_readme(page):
    page.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                                {"width": 1240, "height": 1010, "deviceScaleFactor": 1, "mobile": False})
    page.driver.execute_cdp_cmd("Emulation.setScrollbarsHidden", {"hidden": True})
    page.open()
    teach(page)
    page.say(AGAIN)
    wait(lambda: len(page.replies()) == 4, "the last reply")
    page.type("Wake me at six with Snugglebarn!")
    page.driver.execute_script("document.activeElement.blur(); window.scrollTo(0, 0)")
    time.sleep(0.3)
    page.picture("readme.png")
    page.driver.execute_cdp_cmd("Emulation.setScrollbarsHidden", {"hidden": False})
    page.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


TESTS = [
    words_are_tinted_and_labelled_as_one_types,
    runners_up_are_shown_on_hover_and_focus,
    the_page_lays_out_what_the_server_says,
    an_answer_that_comes_late_is_dropped,
    it_asks_learns_and_understands_the_next_time,
    what_was_learnt_is_deleted_and_brought_back,
    concepts_are_added_searched_and_edited,
    markup_in_a_concept_is_text,
    a_question_about_the_intent_has_buttons,
    a_question_about_words_outside_has_buttons,
    how_sure_it_is_stands_in_the_details,
    the_slider_moves_the_threshold,
    the_slider_asks_the_server_as_it_rests,
    a_slider_without_a_server_keeps_the_last_answer,
    everything_works_without_a_mouse,
    examples_fit_the_model,
    a_new_conversation_forgets_the_question,
    a_server_that_is_gone_is_told,
    nothing_is_asked_of_others,
    is_good_to_look_at,
    picture_of_the_readme,
]

# On a server with a model that judges words, and on one with tokens.
WORD_TESTS = [
    the_page_lays_out_what_the_server_says,
    the_slider_moves_the_threshold,
    the_slider_asks_the_server_as_it_rests,
]
TOKEN_TESTS = [a_token_is_asked_for_once]


def browser():
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    options.add_argument("--headless=new")
    options.add_argument("--window-size=1280,1100")
    options.add_argument("--disable-dev-shm-usage")
    if os.geteuid() == 0:
        options.add_argument("--no-sandbox")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))


def run(test, page):
    try:
        if page.server.token is None:
            page.server.forget_all()
            page.open()
        else:
            page.driver.get(page.server.address)
        page.driver.execute_script("localStorage.clear(); sessionStorage.clear()")
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
    parser.add_argument("--picture", help="where to keep the picture of the README")
    parser.add_argument("--only", default="", help="tests with this in their name")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    passed, driver = [], browser()
    try:
        for model, has_tokens, tests in [
            (args.model, False, TESTS), (args.words, False, WORD_TESTS), (args.model, True, TOKEN_TESTS),
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
    if args.picture and all(passed):
        shutil.copy(args.out / "readme.png", args.picture)
    sys.exit(0 if passed and all(passed) else 1)


if __name__ == "__main__":
    main()
