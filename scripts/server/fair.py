"""What one caller notices of others who are silent or who flood the server; JSON with milliseconds and megabytes.

    python fair.py MENO SECONDS MODEL

`silent`: 2,000 connections without a token say nothing, and come back when they are sent away; how long `/healthz` takes meanwhile.
`flood`: one token sends four of the largest batches at a time (255 texts of 2,040 words of one letter); how long single requests
of another token take meanwhile, which fails if the 99th percentile is 50 ms or more. `batches`: the most memory that a server ever had after four such batches, and after its start.
"""

import http.client
import json
import multiprocessing
import os
import re
import resource
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

MENO, SECONDS, MODEL = sys.argv[1], float(sys.argv[2]), sys.argv[3]
HOST = "127.0.0.1"
SILENT = 2000
# What single requests of one token may take at the 99th percentile while another floods, in milliseconds.
FAIR = 50
BATCHES = 4
LARGE = json.dumps({"texts": ["a " * 2040] * 255})
# How many bytes of answers to batches were taken, by all processes.
taken = multiprocessing.Value("q", 0)


class Server:
    def __init__(self, folder):
        with socket.socket() as free:
            free.bind((HOST, 0))
            self.port = free.getsockname()[1]
        self.tokens = [self.token(folder / "tokens", owner) for owner in ("anna", "ben")]
        command = [MENO, "serve", MODEL, "--tokens", folder / "tokens", "--listen", f"{HOST}:{self.port}"]
        self.process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 20
        while not self.is_alive():
            if time.monotonic() > deadline:
                sys.exit("error: the server does not start")
            time.sleep(0.05)

    def token(self, file, owner):
        made = subprocess.run([MENO, "token", owner, "read", "--tokens", file], check=True, capture_output=True, text=True)
        return re.search(r"^\S{20,}$", made.stdout, re.M)[0]

    def is_alive(self):
        try:
            return self.once("GET", "/healthz") == 200
        except OSError:
            return False

    def once(self, method, path):
        """The status of a request on a connection of its own."""
        connection = http.client.HTTPConnection(HOST, self.port, timeout=30)
        try:
            connection.request(method, path)
            answer = connection.getresponse()
            answer.read()
            return answer.status
        except http.client.HTTPException as error:
            raise OSError(str(error)) from error
        finally:
            connection.close()

    def peak(self):
        """The most resident memory that it ever had, in MB."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return round(int(re.search(r"VmHWM:\s+(\d+)", status)[1]) / 1024, 1)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()


def keep_silent(port, end):
    held = []
    while time.monotonic() < end:
        held = [connection for connection in held if is_open(connection)]
        try:
            while len(held) < SILENT:
                connection = socket.create_connection((HOST, port), timeout=1)
                connection.setblocking(False)
                held.append(connection)
        except OSError:
            pass
        time.sleep(0.1)


def is_open(connection):
    """Whether the server has not sent it away."""
    try:
        connection.recv(1)
    except BlockingIOError:
        return True
    except OSError:
        pass
    connection.close()
    return False


def send_batches(port, token, end):
    """Batch after batch, read and thrown away."""
    while time.monotonic() < end:
        connection = http.client.HTTPConnection(HOST, port, timeout=max(1, end - time.monotonic()))
        try:
            connection.request("POST", "/v1/annotate", LARGE, headers(token))
            answer = connection.getresponse()
            while answer.status == 200 and time.monotonic() < end and (piece := answer.read(1 << 16)):
                with taken:
                    taken.value += len(piece)
        except (OSError, http.client.HTTPException):
            time.sleep(0.1)
        finally:
            connection.close()


def taken_mb():
    """What was taken since this was last asked for; none would be no flood."""
    with taken:
        amount, taken.value = taken.value, 0
    return round(amount / 1e6, 1)


def headers(token):
    return {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}


def measured(ask, end):
    """How long requests take, one after the other, and how many had another status than 200."""
    times, failed = [], 0
    while time.monotonic() < end:
        begun = time.monotonic()
        try:
            failed += ask() != 200
        except (OSError, http.client.HTTPException):
            failed += 1
        times.append(1000 * (time.monotonic() - begun))
        time.sleep(0.005)
    times.sort()
    at = lambda share: round(times[min(len(times) - 1, int(share * len(times)))], 2)
    return {"requests": len(times), "failed": failed, "p50_ms": at(0.5), "p99_ms": at(0.99), "max_ms": round(times[-1], 2)}


def while_others(work, arguments, count, ask):
    """What is measured while others are at work, which they are half a second before."""
    end = time.monotonic() + 0.5 + SECONDS
    others = [multiprocessing.Process(target=work, args=(*arguments, end), daemon=True) for _ in range(count)]
    for other in others:
        other.start()
    time.sleep(0.5)
    found = measured(ask, end) if ask else None
    for other in others:
        other.join(max(0, end + 5 - time.monotonic()))
        other.kill()
    return found


def main():
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    # The server has as many, from here.
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with tempfile.TemporaryDirectory() as name:
        figures = {"cores": os.cpu_count(), "seconds": SECONDS}
        with Server(Path(name)) as server:
            figures["silent"] = {"connections": SILENT} | while_others(keep_silent, (server.port,), 1, lambda: server.once("GET", "/healthz"))
        with Server(Path(name)) as server:
            flooding, other = server.tokens
            connection = http.client.HTTPConnection(HOST, server.port, timeout=30)

            def ask():
                connection.request("POST", "/v1/annotate", json.dumps({"text": "play jazz in the kitchen"}), headers(other))
                answer = connection.getresponse()
                answer.read()
                return answer.status

            figures["flood"] = {"batches": BATCHES} | while_others(send_batches, (server.port, flooding), BATCHES, ask)
            figures["flood"]["taken_mb"] = taken_mb()
        with Server(Path(name)) as server:
            before = server.peak()
            while_others(send_batches, (server.port, server.tokens[0]), BATCHES, None)
            figures["batches"] = {"batches": BATCHES, "taken_mb": taken_mb(), "start_mb": before, "peak_mb": server.peak()}
    print(json.dumps(figures, indent=2))
    if figures["flood"]["failed"] or figures["flood"]["p99_ms"] >= FAIR:
        sys.exit(f"error: while one token floods, single requests of another take {FAIR} ms or more, or fail")


main()
