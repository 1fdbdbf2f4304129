"""Everything that can go wrong with servers, all at once, and what must hold whatever happens.

    python chaos.py MENO MODEL SECONDS SEED [POSTGRES_SCRIPT]

One server on an SQLite file and two on one PostgreSQL (left out without the script that starts one). People teach, forget, undo, list and ask;
meanwhile servers are killed, the databases are silent or slow, the disk is full, files go away, reloads are broken, and the clock jumps (where
libfaketime is there), two of these at a time. Other tokens flood with large batches, lists, imports, imports that are wrong and exports that they
do not read, one floods without a token, and connections are silent. At the end: nothing that was acknowledged is lost, nothing of one owner was
seen by another, nobody within quota was unserved for more than a second, memory is back within 10 %.
"""

import http.client
import json
import multiprocessing
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

# How long somebody within quota may go unserved.
UNSERVED = 1.0
# So long after a store is back whoever teaches is served again.
RECOVERY = 3.0
TOKEN = re.compile(r"^\S{20,}$", re.M)

# Those who flood are processes of their own, so that they do not hold up those who measure.
multiprocessing.set_start_method("fork")
over = multiprocessing.Event()
failures = []
log = []
# All processes of servers, so that none is left behind.
started = []


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
        # Nobody is to be served while it is down because it was killed, and nobody by the store while that is away.
        self.down_until = self.store_until = time.monotonic()
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
        started.append(self.process)
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

    def away(self, trouble):
        """Has trouble with its store."""
        self.store_until = float("inf")
        try:
            trouble()
        finally:
            self.store_until = time.monotonic() + RECOVERY

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
        self.n = {"taught": 0, "forgotten": 0, "undone": 0, "refused": 0, "listed": 0, "asked": 0}
        # Since when something is asked for and not given, and for how long that was at most.
        self.waits, self.slowest = {}, {}

    def ask(self, what, server, *request):
        """The status and the answer; 0 if there is none. Fails when it takes too long until one is given, whatever was answered before."""
        begun = time.monotonic()
        try:
            status, body = server.ask(*request[:2], self.token, *request[2:])
        except OSError:
            status, body = 0, b""
        now = time.monotonic()
        excused = server.down_until if what == "ask" else max(server.down_until, server.store_until)
        since, last = self.waits.get((what, server), (begun, begun))
        # Who does not ask again soon does not wait.
        since = since if begun - last < UNSERVED / 2 else begun
        self.waits[what, server] = since, now
        waited = now - max(since, excused)
        self.slowest[what] = max(self.slowest.get(what, 0), waited)
        if waited > UNSERVED:
            fail(f"{self.name} waited for {waited:.1f} s at {server.name} ({what}, {status})")
        if status not in (0, 429, 503) or waited > UNSERVED:
            del self.waits[what, server]
        return status, body

    def teach(self):
        count = 0
        while not over.is_set():
            server = self.random.choice(self.servers)
            phrase = f"{self.name} zorblax {count}"
            count += 1
            if self.taught and self.random.random() < 0.2:
                self.forget(server)
                continue
            status, body = self.ask("teach", server, "POST", "/v1/concepts", {"phrase": phrase, "slot": "playlist"})
            if status == 201:
                self.taught[phrase] = json.loads(body)["id"]
                self.n["taught"] += 1
                if self.random.random() < 0.1:
                    self.undo(server, phrase)
            elif status in (0, 429, 503):
                # Whether it was learnt before the connection broke is not known.
                self.n["refused"] += 1
                self.unsure.add(phrase)
            else:
                fail(f"{self.name} teaches: {status} {body[:200]}")
            time.sleep(0.02)

    def forget(self, server):
        phrase = self.random.choice(list(self.taught))
        identity = self.taught.pop(phrase)
        status, body = self.ask("forget", server, "DELETE", f"/v1/concepts/{identity}")
        if status in (200, 204):
            self.gone.add(phrase)
            self.n["forgotten"] += 1
        else:
            self.unsure.add(phrase)
            if status not in (0, 429, 503):
                fail(f"{self.name} forgets {identity}: {status} {body[:200]}")

    def undo(self, server, phrase):
        """Takes back what was just taught, or what was under way before it and is done only now; never what another did."""
        del self.taught[phrase]
        self.unsure.add(phrase)
        status, body = self.ask("undo", server, "POST", "/v1/concepts/undo")
        if status == 200:
            self.n["undone"] += 1
            for change in json.loads(body)["changes"]:
                concept = change["after"] or change["before"]
                if concept["owner"] != self.name:
                    fail(f"{self.name} took back {concept['phrase']} of {concept['owner']}")
                elif concept["phrase"] == phrase and not change["after"]:
                    self.gone.add(phrase)
        elif status not in (0, 409, 429, 503):
            fail(f"{self.name} takes back: {status} {body[:200]}")

    def read(self, others):
        """Asks the servers all the time; nobody else's concepts may be in the answers."""
        while not over.is_set():
            server = self.random.choice(self.servers)
            other = self.random.choice(others)
            phrase = self.random.choice(list(other.taught) or ["zorblax"])
            status, body = self.ask("ask", server, "POST", "/v1/annotate", {"text": f"play {phrase}"})
            if status == 200:
                if json.loads(body).get("memory"):
                    fail(f"{self.name} was told of {phrase}")
                self.n["asked"] += 1
            elif status not in (0, 429, 503):
                fail(f"{self.name} asks: {status} {body[:200]}")
            if self.random.random() < 0.05:
                self.look(server, other)
            time.sleep(0.01)

    def look(self, server, other):
        """Lists what another taught, which is not there, and wants to take back what another did."""
        status, body = self.ask("list", server, "GET", f"/v1/concepts?limit=100&query={other.name}")
        if status == 200:
            self.n["listed"] += 1
            for concept in json.loads(body)["concepts"]:
                if concept["owner"] not in (None, self.name):
                    fail(f"{self.name} was shown {concept['phrase']} of {concept['owner']}")
        elif status not in (0, 429, 503):
            fail(f"{self.name} lists: {status} {body[:200]}")
        status, body = self.ask("trespass", server, "POST", f"/v1/concepts/undo?owner={other.name}")
        if status not in (0, 403, 429, 503):
            fail(f"{self.name} takes back what {other.name} did: {status} {body[:200]}")


def again(server, request, timeout=8):
    """The same all the time, and sooner than it should when it is refused."""
    while not over.is_set():
        try:
            status, _ = server.ask(*request, timeout=timeout)
            time.sleep(0.02 if status == 429 else 0)
        except OSError:
            time.sleep(0.02)


def send(server, token, path, lines):
    """An import, whatever comes of it."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=8)
    try:
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/x-ndjson"}
        connection.request("POST", path, lines, headers)
        return connection.getresponse().status
    except http.client.HTTPException as error:
        raise OSError(str(error)) from error
    finally:
        connection.close()


def imports(server, token, lines):
    while not over.is_set():
        try:
            if send(server, token, "/v1/concepts/import", lines) != 200:
                time.sleep(0.02)
        except OSError:
            time.sleep(0.02)


def exports(server, token):
    """Exports that nobody reads, on many connections."""
    request = f"GET /v1/concepts/export HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\n\r\n".encode()
    crowd(server, request)


def lesson(phrase):
    return json.dumps({"phrase": phrase, "slot": "playlist"}) + "\n"


def flooders(server, tokens):
    """Those who want a server for themselves: each token with something else, and one without."""
    lines = "".join(lesson(f"moon {number}") for number in range(2000))
    eve, mallory, oscar, trudy = (tokens[name] for name in ("eve", "mallory", "oscar", "trudy"))
    kinds = [(batches, (server, eve), 2), (again, (server, ("GET", "/v1/concepts?limit=1000", oscar)), 16)]
    kinds += [(exports, (server, oscar), 1), (imports, (server, mallory, lines), 2), (imports, (server, trudy, lines[: lines.rindex("{") + 1]), 2)]
    kinds += [(again, (server, ("GET", "/openapi.json", None)), 4), (silent, (server,), 1)]
    return [multiprocessing.Process(target=many, args=kind, daemon=True) for kind in kinds]


def many(work, arguments, count):
    """The same some times at once."""
    threads = [threading.Thread(target=work, args=arguments) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def batches(server, token):
    """Batches that are as large as may be, one after the other; nobody waits for all of one."""
    again(server, ("POST", "/v1/annotate", token, {"texts": ["a " * 2040] * 255}), timeout=2)


def silent(server):
    """Connections that say nothing."""
    crowd(server, b"")


def crowd(server, request):
    """300 connections at a time that take nothing of what is answered, for three seconds each."""
    while not over.is_set():
        held = []
        try:
            for _ in range(300):
                connection = socket.socket()
                held.append(connection)
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                connection.settimeout(1)
                connection.connect(("127.0.0.1", server.port))
                connection.sendall(request)
        except OSError:
            pass
        over.wait(3)
        for connection in held:
            connection.close()


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
        server.away(lambda: time.sleep(2))
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    except ProcessLookupError:
        pass


def file_away(server):
    """The file goes away, and what the server had not told to it comes back with it."""
    files = [Path(f"{server.store}{end}") for end in ("", "-wal", "-shm")]
    away = [(file, file.with_name(f"away-{file.name}")) for file in files if file.exists()]

    def trouble():
        for file, other in away:
            file.rename(other)
        time.sleep(2)
        for file, other in away:
            other.rename(file)

    server.away(trouble)


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


def memory_is_back(server, tokens):
    """After a rest it has hardly more than a server that just started and was flooded for five seconds: what the allocator keeps does not grow."""
    time.sleep(2)
    after = server.memory()
    server.kill()
    over.clear()
    flooding = flooders(server, tokens)
    for process in flooding:
        process.start()
    time.sleep(5)
    over.set()
    for process in flooding:
        process.join()
    for _ in range(200):
        server.ask("POST", "/v1/annotate", tokens["anna"], {"text": "play zorblax in the kitchen"})
    time.sleep(2)
    fresh = server.memory()
    if after > 1.1 * fresh + 4:
        fail(f"{server.name} has {after:.0f} MB, and {fresh:.0f} after a start and a flood")
    return after, fresh


def troubles(groups, folder):
    """What may happen: a name, where, whether it ends a server, whether it is its store's, and what is done."""
    found = []
    for servers in groups:
        for server in servers:
            found.append(("killed", server, True, False, lambda server=server: server.kill()))
            found.append(("a broken reload", server, False, False, lambda server=server: broken_reload(server)))
            if FAKETIME:
                found.append(("the clock jumps", server, False, False, lambda server=server: clock_jump(server)))
    alone = groups[0][0]
    found.append(("a full disk", alone, False, True, lambda: full_disk(alone)))
    found.append(("the file goes away", alone, False, True, lambda: file_away(alone)))
    for servers in groups[1:]:

        def hold(trouble, *arguments, servers=servers):
            for server in servers:
                server.store_until = float("inf")
            trouble(*arguments)
            for server in servers:
                server.store_until = time.monotonic() + RECOVERY

        for pause in (0.3, 1, 4):
            found.append((f"its database is silent for {pause} s", servers[0], False, True, lambda pause=pause: hold(database, "STOP", pause, folder)))
        found.append(("its database is slow", servers[0], False, True, lambda: hold(slow_database, folder)))
    return found


def fit(one, other):
    """Whether two troubles may come together: no server starts while its store is away or its model is broken."""
    (name, server, ends, is_store, _), (other_name, other_server, other_ends, other_is_store, _) = one, other
    if server.store != other_server.store:
        return True
    if is_store or other_is_store:
        return not (ends or other_ends or (is_store and other_is_store))
    return name != other_name and (server is not other_server or not (ends or other_ends) or "the clock jumps" in (name, other_name))


def main(folder):
    tokens = folder / "tokens"
    held = {}
    rights_of = ["root admin", "anna read,teach", "ben read,teach", "eve read", "oscar read", "mallory read,teach", "trudy read,teach"]
    for name, rights in map(str.split, rights_of):
        made = subprocess.run([MENO, "token", name, rights, "--tokens", tokens], check=True, capture_output=True, text=True)
        held[name] = TOKEN.search(made.stdout)[0].split()[-1]
    alone = Server("sqlite", folder, str(folder / "concepts.db"), tokens)
    groups = [[alone]]
    if POSTGRES:
        database_server = subprocess.run([POSTGRES, "start", folder / "pg", str(os.getpid())], check=True, capture_output=True, text=True)
        address = database_server.stdout.strip()
        groups.append([Server(f"postgres{i}", folder, address, tokens) for i in (1, 2)])
    # What everyone knows, so that an export is long.
    long = "".join(lesson(f"comet {number} {'x' * 2000}") for number in range(400))
    if send(alone, held["root"], "/v1/concepts/import?owner=everyone", long) != 200:
        fail("everyone learns nothing")
    people, threads = [], []
    for servers in groups:
        pair = [Person(name, held[name], servers) for name in ("anna", "ben")]
        people.append(pair)
        for person, other in (pair, pair[::-1]):
            threads.append(threading.Thread(target=person.teach))
            threads.append(threading.Thread(target=person.read, args=([other],)))
    flooding = flooders(alone, held)
    for thread in flooding + threads:
        thread.start()
    chance = random.Random(SEED)
    possible = troubles(groups, folder / "pg")
    while time.monotonic() < START + SECONDS:
        first = chance.choice(possible)
        # Where there is one server alone a kill goes with nothing else.
        others = [other for other in possible if fit(first, other)]
        working = []
        for name, server, *_, trouble in [first, *([chance.choice(others)] if others else [])]:
            note(f"{server.name}: {name}")
            working.append(threading.Thread(target=trouble))
            working[-1].start()
        for thread in working:
            thread.join()
        for server in (server for servers in groups for server in servers):
            if server.process.poll() is not None:
                fail(f"{server.name} ended by itself: {server.process.returncode}")
                server.start()
        time.sleep(chance.uniform(0.5, 3))
    over.set()
    for thread in flooding + threads:
        thread.join()
    for servers, pair in zip(groups, people):
        for server in servers:
            check(server, pair, held["root"])
        for person in pair:
            slowest = {what: f"{1000 * waited:.0f} ms" for what, waited in person.slowest.items()}
            print(f"{servers[0].name} {person.name}: {person.n}, unserved for at most {slowest}")
        for server in servers:
            after, fresh = memory_is_back(server, held)
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
        for process in started:
            process.kill()
        if failures:
            for file in sorted(folder.glob("*.log")):
                print(f"--- {file.name}\n{file.read_text()[-2000:]}")
print(f"{len(failures)} failures in {time.monotonic() - START:.0f} s")
sys.exit(bool(failures))
