"""Everything that can go wrong with servers, all at once, and what must hold whatever happens.

    python chaos.py MENO MODEL SECONDS SEED [POSTGRES_SCRIPT]

One server on an SQLite file and two on one PostgreSQL (left out without the script that starts one). People teach, forget and ask; meanwhile
servers are killed, the databases are silent or slow, the disk is full, files go away, reloads are broken, one token floods, connections are
silent, and the clock jumps (where libfaketime is there). At the end: nothing that was acknowledged is lost, nothing of one owner was seen by
another, nobody within quota was unserved for more than a second, memory is back within 10 %.
"""

import http.client
import json
import os
import random
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

MENO, MODEL, SECONDS, SEED = sys.argv[1], sys.argv[2], float(sys.argv[3]), int(sys.argv[4])
POSTGRES = sys.argv[5] if len(sys.argv) > 5 else None
FAKETIME = next(iter(sorted(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))), None)

# How long somebody within quota may go unserved, and what a request may take before it counts as not served.
UNSERVED = 1.0
TOKEN = re.compile(r"^\S{20,}$", re.M)

over = threading.Event()
failures = []
log = []


def fail(text):
    failures.append(text)
    print(f"FAILED {text}", flush=True)


def note(text):
    log.append(text)
    print(f"{time.monotonic() - START:6.1f} s  {text}", flush=True)


class Server:
    """A process that is started again when it was killed, and what people know of it."""

    def __init__(self, name, folder, store, tokens):
        self.name, self.folder, self.store = name, folder, store
        self.model = folder / f"{name}.model"
        shutil.copy(MODEL, self.model)
        self.tokens = folder / f"{name}.tokens"
        shutil.copy(tokens, self.tokens)
        self.clock = folder / f"{name}.clock"
        self.clock.write_text("+0")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        # Nobody is to be served while it is down because it was killed.
        self.down_until = time.monotonic()
        self.start()

    def start(self):
        environment = dict(os.environ)
        if FAKETIME:
            environment |= {
                "LD_PRELOAD": str(FAKETIME),
                "FAKETIME_TIMESTAMP_FILE": str(self.clock),
                "FAKETIME_NO_CACHE": "1",
                "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            }
        command = [MENO, "serve", self.model, "--store", self.store, "--tokens", self.tokens, "--listen", f"127.0.0.1:{self.port}"]
        with open(self.folder / f"{self.name}.log", "ab") as out:
            self.process = subprocess.Popen(command, stderr=out, env=environment)
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            try:
                if self.ask("GET", "/healthz", None)[0] == 200:
                    break
            except OSError:
                time.sleep(0.05)
        else:
            fail(f"{self.name} did not start")
        self.down_until = time.monotonic()

    def kill(self):
        self.down_until = float("inf")
        self.process.kill()
        self.process.wait()
        self.start()

    def ask(self, method, path, token, body=None, timeout=8):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            headers = {"Authorization": f"Bearer {token}"} if token else {}
            if body is not None:
                headers["Content-Type"] = "application/json"
                body = json.dumps(body)
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            return answer.status, answer.read()
        except http.client.HTTPException as error:
            raise OSError(str(error)) from error
        finally:
            connection.close()

    def memory(self):
        """Its resident memory, in MB."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024


class Person:
    """Teaches, forgets and asks, and keeps in mind what was acknowledged."""

    def __init__(self, name, token, servers):
        self.name, self.token, self.servers = name, token, servers
        self.random = random.Random(f"{SEED} {name}")
        self.taught, self.gone, self.unsure = {}, set(), set()
        self.n = {"taught": 0, "forgotten": 0, "refused": 0, "asked": 0}
        self.slowest = 0.0

    def teach(self):
        count = 0
        while not over.is_set():
            server = self.random.choice(self.servers)
            phrase = f"{self.name} zorblax {count}"
            count += 1
            try:
                if self.taught and self.random.random() < 0.2:
                    self.forget(server)
                    continue
                status, body = server.ask("POST", "/v1/concepts", self.token, {"phrase": phrase, "slot": "playlist"})
                if status == 201:
                    self.taught[phrase] = json.loads(body)["id"]
                    self.n["taught"] += 1
                elif status in (429, 503):
                    self.n["refused"] += 1
                    self.unsure.add(phrase)
                else:
                    fail(f"{self.name} teaches: {status} {body[:200]}")
            except OSError:
                # Whether it was learnt before the connection broke is not known.
                self.unsure.add(phrase)
            time.sleep(0.02)

    def forget(self, server):
        phrase = self.random.choice(list(self.taught))
        identity = self.taught.pop(phrase)
        try:
            status, body = server.ask("DELETE", f"/v1/concepts/{identity}", self.token)
        except OSError:
            self.unsure.add(phrase)
            raise
        if status in (200, 204):
            self.gone.add(phrase)
            self.n["forgotten"] += 1
        else:
            self.unsure.add(phrase)
            if status not in (429, 503):
                fail(f"{self.name} forgets {identity}: {status} {body[:200]}")

    def read(self, others):
        """Asks one server all the time; nobody else's concepts may be in the answers."""
        server = self.servers[0]
        served = time.monotonic()
        while not over.is_set():
            other = self.random.choice(others)
            phrase = self.random.choice(list(other.taught) or ["zorblax"])
            begun = time.monotonic()
            try:
                status, body = server.ask("POST", "/v1/annotate", self.token, {"text": f"play {phrase}"})
            except OSError:
                status, body = 0, b""
            now = time.monotonic()
            if status == 200:
                if json.loads(body).get("memory"):
                    fail(f"{self.name} was told of {phrase}")
                self.n["asked"] += 1
                since = max(served, server.down_until)
                if since < now:
                    self.slowest = max(self.slowest, now - max(since, begun if since == served else since))
                served = now
            elif status not in (0, 429, 503):
                fail(f"{self.name} asks: {status} {body[:200]}")
            elif server.down_until < begun and now - max(served, server.down_until) > UNSERVED:
                fail(f"{self.name} was not served for {now - max(served, server.down_until):.1f} s ({status})")
                served = now
            time.sleep(0.01)


def large(server, token):
    """A batch that is as large as may be; nobody waits for all of it."""
    try:
        server.ask("POST", "/v1/annotate", token, {"texts": ["a " * 2040] * 255}, timeout=2)
    except OSError:
        pass


def flood(server, token):
    """Two large batches at a time, one after the other."""
    while not over.is_set():
        large(server, token)


def silent(server):
    """Connections that say nothing."""
    while not over.is_set():
        held = []
        try:
            for _ in range(300):
                held.append(socket.create_connection(("127.0.0.1", server.port), timeout=1))
        except OSError:
            pass
        over.wait(3)
        for connection in held:
            connection.close()


def killed(server):
    server.kill()


def broken_reload(server):
    whole = server.model.read_bytes()
    server.model.write_bytes(whole[: len(whole) // 2])
    server.process.send_signal(signal.SIGHUP)
    time.sleep(0.5)
    server.model.write_bytes(whole)
    server.process.send_signal(signal.SIGHUP)


def full_disk(server):
    """No file of the server may grow; a kill meanwhile takes the limit with it."""
    size = os.path.getsize(server.store)
    try:
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
        time.sleep(2)
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    except ProcessLookupError:
        pass


def file_away(server):
    """The file goes away, and what the server had not told to it comes back with it."""
    files = [Path(f"{server.store}{end}") for end in ("", "-wal", "-shm")]
    away = [(file, file.with_name(f"away-{file.name}")) for file in files if file.exists()]
    for file, other in away:
        file.rename(other)
    time.sleep(2)
    for file, other in away:
        other.rename(file)


def clock_jump(server):
    server.clock.write_text(random.choice(["+1d", "-1d", "+300", "-300"]))
    time.sleep(1)
    server.clock.write_text("+0")


def database(action, pause, folder):
    subprocess.run([POSTGRES, "signal", folder, "STOP"], check=True)
    time.sleep(pause)
    subprocess.run([POSTGRES, "signal", folder, "CONT"], check=True)


def slow_database(folder):
    """For some seconds it answers a quarter of the time."""
    for _ in range(12):
        database("STOP", 0.15, folder)
        time.sleep(0.05)


def concepts(server, token):
    """All concepts that an admin sees, once the store is there."""
    found, after = {}, 0
    while True:
        status, body = server.ask("GET", f"/v1/concepts?owner=*&limit=1000&after={after}", token)
        if status != 200:
            raise OSError(f"{status} {body[:200]}")
        page = json.loads(body)
        found |= {concept["phrase"]: concept.get("owner") for concept in page["concepts"]}
        if not page["next"]:
            return found
        after = page["next"]


def settled(server, token):
    deadline = time.monotonic() + 10
    while True:
        try:
            return concepts(server, token)
        except OSError as error:
            if time.monotonic() > deadline:
                fail(f"{server.name} does not come back: {error}")
                return {}
            time.sleep(0.2)


def check(server, people, token):
    found = settled(server, token)
    for person in people:
        lost = [phrase for phrase in person.taught if phrase not in found]
        back = [phrase for phrase in person.gone if phrase in found]
        wrong = [phrase for phrase, owner in found.items() if phrase.startswith(f"{person.name} ") and owner != person.name]
        for what, phrases in (("lost", lost), ("came back", back), ("of another owner", wrong)):
            if phrases:
                fail(f"{server.name}: {len(phrases)} concepts of {person.name} {what}: {phrases[:3]}")


def memory_is_back(server, token):
    """After a rest it has hardly more than a server that just started and was flooded for five seconds: what the allocator keeps does not grow."""
    time.sleep(2)
    after = server.memory()
    server.kill()
    over.clear()
    threads = [threading.Thread(target=flood, args=(server, token)) for _ in range(4)]
    threads.append(threading.Thread(target=silent, args=(server,)))
    for thread in threads:
        thread.start()
    time.sleep(5)
    over.set()
    for thread in threads:
        thread.join()
    for _ in range(200):
        server.ask("POST", "/v1/annotate", token, {"text": "play zorblax in the kitchen"})
    time.sleep(2)
    fresh = server.memory()
    if after > 1.1 * fresh + 4:
        fail(f"{server.name} has {after:.0f} MB, and {fresh:.0f} after a start and a flood")
    return after, fresh


def main(folder):
    tokens = folder / "tokens"
    held = {}
    for name, rights in [("root", "admin"), ("anna", "read,teach"), ("ben", "read,teach"), ("eve", "read")]:
        made = subprocess.run([MENO, "token", name, rights, "--tokens", tokens], check=True, capture_output=True, text=True)
        held[name] = TOKEN.search(made.stdout)[0].split()[-1]
    alone = Server("sqlite", folder, str(folder / "concepts.db"), tokens)
    groups = [[alone]]
    if POSTGRES:
        started = subprocess.run([POSTGRES, "start", folder / "pg", str(os.getpid())], check=True, capture_output=True, text=True)
        address = started.stdout.strip()
        groups.append([Server(f"postgres{i}", folder, address, tokens) for i in (1, 2)])
    people, threads = [], []
    for servers in groups:
        pair = [Person(name, held[name], servers) for name in ("anna", "ben")]
        people.append(pair)
        for person, other in (pair, pair[::-1]):
            threads.append(threading.Thread(target=person.teach))
            threads.append(threading.Thread(target=person.read, args=([other],)))
    threads += [threading.Thread(target=flood, args=(alone, held["eve"])) for _ in range(2)]
    threads.append(threading.Thread(target=silent, args=(alone,)))
    for thread in threads:
        thread.start()
    chance = random.Random(SEED)
    troubles = [("killed", killed), ("a broken reload", broken_reload)] + [("the clock jumps", clock_jump)] * bool(FAKETIME)
    local = [("a full disk", full_disk), ("the file goes away", file_away)]
    while time.monotonic() < START + SECONDS:
        if POSTGRES and chance.random() < 0.2:
            pause = chance.choice([0, 0.3, 1, 4])
            if pause:
                note(f"PostgreSQL is silent for {pause} s")
                database("STOP", pause, folder / "pg")
            else:
                note("PostgreSQL is slow")
                slow_database(folder / "pg")
        else:
            server = chance.choice([server for servers in groups for server in servers])
            name, trouble = chance.choice(troubles + local * (server is alone))
            note(f"{server.name}: {name}")
            trouble(server)
        for server in (server for servers in groups for server in servers):
            if server.process.poll() is not None:
                fail(f"{server.name} ended by itself: {server.process.returncode}")
                server.start()
        time.sleep(chance.uniform(0.5, 3))
    over.set()
    for thread in threads:
        thread.join()
    for servers, pair in zip(groups, people):
        for server in servers:
            check(server, pair, held["root"])
        for person in pair:
            print(f"{servers[0].name} {person.name}: {person.n}, unserved for at most {person.slowest * 1000:.0f} ms")
        for server in servers:
            after, fresh = memory_is_back(server, held["anna"])
            print(f"{server.name}: {after:.0f} MB, {fresh:.0f} MB after a start and a flood")
            check(server, pair, held["root"])
    for server in (server for servers in groups for server in servers):
        server.process.terminate()
        if server.process.wait(15) != 0:
            fail(f"{server.name} did not end well: {server.process.returncode}")
        if "mistake in meno" in (folder / f"{server.name}.log").read_text():
            fail(f"{server.name} panicked")
    for name in ("a full disk", "the file goes away", "killed", "a broken reload", "silent", "slow"):
        print(f"{name}: {sum(name in line for line in log)} times")
    if not FAKETIME:
        print("left out: the clock does not jump, because libfaketime is not there")
    if not POSTGRES:
        print("left out: PostgreSQL")


START = time.monotonic()
with tempfile.TemporaryDirectory() as name:
    os.chmod(name, 0o755)
    folder = Path(name)
    try:
        main(folder)
    finally:
        over.set()
        if failures:
            for file in sorted(folder.glob("*.log")):
                print(f"--- {file.name}\n{file.read_text()[-2000:]}")
print(f"{len(failures)} failures in {time.monotonic() - START:.0f} s")
sys.exit(bool(failures))
