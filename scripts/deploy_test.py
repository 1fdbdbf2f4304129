"""Runs what Dockerfile, compose.yaml and deploy/meno.service say, without Docker and systemd.

    scripts/deploy_test.sh MENO

The image is a folder that is made by the instructions of the Dockerfile; only cargo is a stand-in, which takes the program that was
built already, and the base image, of which the libraries are those of this machine. Its ENTRYPOINT and CMD run in it by chroot, as
the user of the image, and have to answer; so have its HEALTHCHECK and the command of compose.yaml with a real PostgreSQL.
"""

import glob
import importlib.util
import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import tomllib
import urllib.request

import jsonschema
import yaml
from dockerfile_parse import DockerfileParser

MENO = sys.argv[1]
MODEL = "crates/meno/tests/models/span_tagger-1.meno"
PASSWORD = "secret"
# Where a server listens, or is asked; not where its database does.
ADDRESS = re.compile(r"^(?:0\.0\.0\.0|127\.0\.0\.1):(\d+)$")


def check(holds, problem):
    if not holds:
        sys.exit(f"error: {problem}")


def left_out(what):
    print(f"!! left out: {what}")
    if os.environ.get("CI") == "true":
        sys.exit(1)


def stages():
    """The instructions of the Dockerfile, stage by stage."""
    found = []
    for line in DockerfileParser(path="Dockerfile").structure:
        instruction, value = line["instruction"], line["value"]
        if instruction == "FROM":
            found.append([])
        if instruction != "COMMENT":
            found[-1].append((instruction, value))
    return found


def build(run, top):
    """Runs the command of the first stage, in a folder in place of `/`; cargo is a stand-in."""
    root, tools = f"{top}/build", f"{top}/tools"
    os.makedirs(root)
    os.makedirs(tools)
    with open(f"{tools}/cargo", "w") as file:
        file.write(f'#!/bin/sh\necho "$@" >{root}/cargo\nmkdir -p target/dist\ncp {shlex.quote(MENO)} target/dist/meno\n')
    os.chmod(f"{tools}/cargo", 0o755)
    environment = os.environ | {"PATH": f"{tools}:{os.environ['PATH']}"}
    script = re.sub(r"(?<=\s)/out/", f"{root}/out/", run)
    subprocess.run(["sh", "-ec", script], cwd=root, env=environment, check=True)
    # What was asked of cargo can be had of this workspace.
    with open(f"{root}/cargo") as file:
        arguments = file.read().split()
    with open("Cargo.toml", "rb") as file:
        profiles = tomllib.load(file)["profile"]
    with open("crates/meno-cli/Cargo.toml", "rb") as file:
        features = tomllib.load(file)["features"]
    option = lambda name: arguments[arguments.index(name) + 1]
    check("--locked" in arguments and option("--profile") in profiles, f"Dockerfile: cargo {arguments}")
    check(option("--features") in features, f"Dockerfile: there is no feature {option('--features')}")
    return root


def image(top):
    """The folder of the image, and what is to be run in it."""
    first, last = stages()
    with open("rust-toolchain.toml", "rb") as file:
        toolchain = tomllib.load(file)["toolchain"]["channel"]
    base = dict(first)["FROM"]
    check(base.startswith(f"rust:{'.'.join(toolchain.split('.')[:2])}-"), f"Dockerfile: {base} is not Rust {toolchain}")
    built, root = build(dict(first)["RUN"], top), f"{top}/image"
    # What the base image has of this program: the C library, and where temporary files go.
    listed = subprocess.run(["ldd", MENO], check=True, capture_output=True, text=True).stdout
    for library in re.findall(r"/\S+", listed):
        os.makedirs(root + os.path.dirname(library), exist_ok=True)
        shutil.copy(library, root + library)
    for value in [value for instruction, value in last if instruction == "COPY"]:
        *options, source, target = value.split()
        check("--from=build" in options, f"Dockerfile: COPY {value}")
        os.makedirs(os.path.dirname(root + target), exist_ok=True)
        (shutil.copytree if os.path.isdir(built + source) else shutil.copy)(built + source, root + target)
        for owner in [option.split("=")[1] for option in options if option.startswith("--chown")]:
            os.chown(root + target, *map(int, owner.split(":")))
    words = dict(last)
    health = json.loads(words["HEALTHCHECK"].split("CMD", 1)[1])
    return root, words["USER"], json.loads(words["ENTRYPOINT"]), json.loads(words["CMD"]), health


class Serving:
    """A command in the image, on ports of its own; a mount of the image is a copy."""

    def __init__(self, root, user, command):
        self.inside = ["chroot", f"--userspec={user}", root]
        self.ports = {found[1]: free_port() for word in command if (found := ADDRESS.match(word))}
        os.makedirs(f"{root}/etc/meno", exist_ok=True)
        shutil.copy(MODEL, f"{root}/etc/meno/bot.meno")
        made = subprocess.run([MENO, "token", "anna", "admin", "--tokens", f"{root}/etc/meno/tokens"], capture_output=True, text=True, check=True)
        # As the Dockerfile says: nobody else reads the file.
        os.chown(f"{root}/etc/meno/tokens", int(user.split(":")[0]), -1)
        self.token = made.stdout.strip()
        self.log = open(f"{root}/../log", "w+")
        self.process = subprocess.Popen(self.inside + self.mapped(command), stderr=self.log)

    def mapped(self, command):
        """The command with the ports of this server: those of the image may be taken here."""
        return [ADDRESS.sub(lambda found: f"127.0.0.1:{self.ports[found[1]]}", word) for word in command]

    def get(self, port, path):
        request = urllib.request.Request(f"http://127.0.0.1:{self.ports[port]}{path}", headers={"Authorization": f"Bearer {self.token}"})
        return urllib.request.urlopen(request, timeout=10).read().decode()

    def check(self, what):
        for _ in range(300):
            try:
                ready = json.loads(self.get("9090", "/readyz"))
                break
            except OSError:
                check(self.process.poll() is None, f"{what} ended: {self.said()}")
                time.sleep(0.1)
        check(ready["learning"] is True, f"{what}: {ready}")
        check("span-tagger" in self.get("8080", "/v1/model"), f"{what}: no model")

    def said(self):
        self.log.seek(0)
        return self.log.read()

    def end(self, what):
        self.process.terminate()
        check(self.process.wait(timeout=30) == 0, f"{what} did not end well: {self.said()}")


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def check_dockerfile(top):
    root, user, entrypoint, command, health = image(top)
    server = Serving(root, user, entrypoint + command)
    server.check("Dockerfile: CMD")
    check(os.path.exists(f"{root}/var/lib/meno/concepts.db"), "Dockerfile: the store is not in its volume")
    if subprocess.run([MENO, "help", "health"], capture_output=True).returncode == 0:
        alive = subprocess.run(server.inside + server.mapped(health))
        check(alive.returncode == 0, "Dockerfile: HEALTHCHECK fails while the server answers")
        server.end("Dockerfile: CMD")
        dead = subprocess.run(server.inside + server.mapped(health), capture_output=True)
        check(dead.returncode != 0, "Dockerfile: HEALTHCHECK passes without a server")
    else:
        left_out("HEALTHCHECK, because this program has no `meno health`")
        server.end("Dockerfile: CMD")
    print("Dockerfile: built, run and asked")
    return root, user, entrypoint


def check_compose(root, user, entrypoint):
    folder = importlib.util.find_spec("compose").submodule_search_locations[0]
    with open(f"{folder}/config/compose_spec.json") as file:
        schema = json.load(file)
    with open("compose.yaml") as file:
        compose = yaml.safe_load(file)
    jsonschema.validate(compose, schema)
    services = compose["services"]
    check(services["meno"]["depends_on"]["db"]["condition"] == "service_healthy", "compose.yaml: meno does not wait")
    dir = tempfile.mkdtemp(prefix="meno-pg-")
    port = str(free_port())
    started = subprocess.run(["scripts/postgres.sh", "start", dir, str(os.getpid()), port], capture_output=True, text=True)
    if started.returncode == 3:
        return left_out(f"compose.yaml with PostgreSQL, because there is {started.stderr.strip()}")
    check(started.returncode == 0, started.stderr)
    # Its health check is that of the database, and its database is made by the image.
    tools = sorted(glob.glob("/usr/lib/postgresql/*/bin"))[-1]
    environment = os.environ | {"PATH": f"{tools}:{os.environ['PATH']}", "PGHOST": "127.0.0.1", "PGPORT": port}
    made = {name: services["db"]["environment"][f"POSTGRES_{name}"] for name in ["USER", "DB"]}
    subprocess.run(["createdb", "--username", made["USER"], made["DB"]], env=environment, check=True)
    kind, *health = services["db"]["healthcheck"]["test"]
    check(kind == "CMD", f"compose.yaml: {kind}")
    subprocess.run(health, env=environment, check=True, stdout=subprocess.DEVNULL)
    command = [re.sub(r"\$\{POSTGRES_PASSWORD:\?[^}]*\}", PASSWORD, word) for word in services["meno"]["command"]]
    command = [word.replace(f"@db/{made['DB']}", f"@127.0.0.1:{port}/{made['DB']}") for word in command]
    check("$" not in " ".join(command), f"compose.yaml: {command}")
    server = Serving(root, user, entrypoint + command)
    server.check("compose.yaml")
    server.end("compose.yaml")
    subprocess.run(["scripts/postgres.sh", "stop", dir], check=True)
    print("compose.yaml: fits the schema of Compose, run with PostgreSQL and asked")


def main():
    if os.getuid() != 0:
        return left_out("Dockerfile and compose.yaml, because only root can chroot")
    with tempfile.TemporaryDirectory() as top:
        os.chmod(top, 0o755)
        root, user, entrypoint = check_dockerfile(top)
        check_compose(root, user, entrypoint)


main()
