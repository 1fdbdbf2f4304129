#!/usr/bin/env python3
"""`meno chat` on a terminal: a line is edited, an earlier one is taken again, Ctrl-D ends.

    terminal_test.py MENO
"""

import os
import pty
import re
import select
import subprocess
import sys
import tempfile
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
PROMPT = "\x1b[1m>\x1b[0m "
LEFT, UP, END_OF_INPUT = "\x1b[D", "\x1b[A", "\x04"


class Terminal:
    def __init__(self, *command):
        self.child, self.end = pty.fork()
        if self.child == 0:
            os.environ["TERM"] = "xterm-256color"
            os.environ.pop("NO_COLOR", None)
            os.execv(command[0], command)
        self.shown = ""

    def wait(self, text):
        """Reads until a text is shown, and gives what was shown with it."""
        deadline = time.monotonic() + 20
        while text not in self.shown:
            assert time.monotonic() < deadline, f"waited in vain for {text!r} in {self.shown!r}"
            if select.select([self.end], [], [], 0.1)[0]:
                self.shown += os.read(self.end, 65536).decode()
        before, self.shown = self.shown.split(text, 1)
        return before

    def type(self, keys):
        self.wait(PROMPT)
        os.write(self.end, keys.encode())

    def reply(self):
        """What is shown up to the next prompt, without colour; the prompt stays."""
        # Only the end of a line leaves the mode in which pasted text is marked.
        self.wait("\x1b[?2004l")
        shown = self.wait(PROMPT)
        self.shown = PROMPT + self.shown
        return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", shown)


def main():
    meno = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        model = f"{folder}/model"
        train = [meno, "train", "data/concepts", "-o", model, "--epochs", "3", "--seed", "1"]
        subprocess.run(train, check=True, capture_output=True, cwd=REPOSITORY)
        # Every concept is unknown, however little was learnt.
        terminal = Terminal(meno, "chat", model, "--threshold=-1e9")
        terminal.type("call my brother\r")
        reply = terminal.reply()
        assert "What is my brother" in reply, reply
        terminal.type(f"a peson{LEFT * 3}r\r")
        reply = terminal.reply()
        assert "learnt 1: my brother | person" in reply, reply
        terminal.type(f"{UP * 2}\r")
        reply = terminal.reply()
        assert "[my brother|person]" in reply and "What is" not in reply, reply
        terminal.type(END_OF_INPUT)
        _, status = os.waitpid(terminal.child, 0)
        assert status == 0, status
    print("ok")


if __name__ == "__main__":
    main()
