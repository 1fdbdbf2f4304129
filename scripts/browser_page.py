"""A server, a browser and the page in it, for scripts/browser_test.py."""

import json
import os
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.request

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

PATIENCE = 10  # seconds that the page has for anything


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

    def open(self, view=""):
        self.driver.get("about:blank")
        self.driver.get(f"{self.server.address}/{view}")
        self.is_there()

    def reload(self):
        self.driver.refresh()
        self.is_there()

    def is_there(self):
        wait(lambda: self.texts("#model")[0], "the model")

    def one(self, selector):
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def texts(self, selector):
        """What the nodes have for text, read at one moment; what only screen readers say is left out."""
        script = """return [...document.querySelectorAll(arguments[0])].map((node) => {
          const copy = node.cloneNode(true);
          copy.querySelectorAll(".hidden, kbd").forEach((other) => other.remove());
          return copy.textContent.replace(/\\s+/g, " ").trim();
        })"""
        return self.driver.execute_script(script, selector)

    def count(self, selector):
        return len(self.all(selector))

    def run(self, script, *values):
        return self.driver.execute_script(script, *values)

    def say(self, text):
        """Says something and waits for the reply, which it gives."""
        n = self.count(".meno")
        self.one("#turn").send_keys(text, Keys.ENTER)
        wait(lambda: self.count(".meno") > n, f"a reply to {text}")
        return self.reply()

    def pressed(self, selector):
        """Presses an answer and waits for the reply, which it gives."""
        n = self.count(".meno")
        self.one(selector).click()
        wait(lambda: self.count(".meno") > n, "a reply")
        return self.reply()

    def reply(self):
        return self.texts(".meno > p")[-1]

    def state(self):
        return self.texts("#state")[0]

    def form(self):
        """The rows of the form."""
        return dict(zip(self.texts("#form dt"), self.texts("#form dd")))

    def marks(self, turn=-1):
        """The words that are set off in what was said, with their labels."""
        script = """return [...[...document.querySelectorAll(".you")].at(arguments[0]).querySelectorAll("mark")].map((mark) =>
          [mark.childNodes[0].textContent.trim(), mark.querySelector("small")?.textContent ?? "unknown"])"""
        return [tuple(mark) for mark in self.run(script, turn)]

    def chips(self):
        return self.texts("#log .chips button")

    def rows(self):
        return self.texts("#concepts .phrase")

    def view(self, name):
        self.run("location.hash = arguments[0]", name)
        wait(self.one(f"#{name}-view").is_displayed, name)

    def press(self, *keys):
        ActionChains(self.driver).send_keys(*keys).perform()

    def focused(self):
        return self.driver.switch_to.active_element

    def focus(self, selector):
        self.run("document.querySelector(arguments[0]).focus()", selector)

    def cdp(self, command, **values):
        return self.driver.execute_cdp_cmd(command, values)

    def size(self, width, height, scale=1):
        self.cdp("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=width < 500)

    def media(self, **features):
        values = [{"name": name.replace("_", "-"), "value": value} for name, value in features.items()]
        self.cdp("Emulation.setEmulatedMedia", features=values)

    def spy(self):
        """Keeps what is sent to dialogues from now on."""
        self.run("""
          const real = window.fetch;
          window.sent = [];
          window.fetch = (path, request) => {
            if (String(path).endsWith("/v1/dialogue")) window.sent.push(JSON.parse(request.body));
            return real(path, request);
          };
        """)

    def sent(self):
        return self.run("return window.sent.at(-1)")

    def picture(self, name):
        path = self.out / name
        self.driver.save_screenshot(str(path))
        return path

    def errors(self):
        return [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] == "SEVERE"]


class Away:
    """A server that cannot be reached."""

    def __init__(self, page):
        self.page = page

    def __enter__(self):
        self.page.cdp("Network.enable")
        self.page.cdp("Network.setBlockedURLs", urls=["*/v1/*"])

    def __exit__(self, *_):
        self.page.cdp("Network.setBlockedURLs", urls=[])
        self.page.errors()  # That the requests failed is what was tested.


def browser():
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    options.add_argument("--headless=new")
    options.add_argument("--window-size=1280,1000")
    options.add_argument("--disable-dev-shm-usage")
    if os.geteuid() == 0:
        options.add_argument("--no-sandbox")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
