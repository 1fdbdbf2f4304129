#!/usr/bin/env python3
"""Packs every crate that is to be published and says what is missing in a package.

    scripts/check_packages.py

Nothing is compiled. What a package needs: a manifest with description, licence, keywords and categories; a README; the text
of its licence or where it comes from; and every file that its sources include.
"""

import json
import os
import re
import subprocess
import sys
import tarfile
import tomllib

INCLUDE = re.compile(r'include_(?:str|bytes)!\(\s*"([^"]+)"\s*\)')
# Under CC0-1.0 the README has all that there is to say.
WITHOUT_LICENCE_FILE = {"meno-answers", "meno-assistant", "meno-concepts"}


def cargo(*args):
    return subprocess.run(["cargo", *args], check=True, stdout=subprocess.PIPE, text=True).stdout


def problems(name, files):
    """What is wrong with a package, given the bytes of each file."""
    manifest = tomllib.loads(files["Cargo.toml"].decode())["package"]
    for field in ["description", "license", "keywords", "categories", "readme", "rust-version"]:
        if not manifest.get(field):
            yield f"no `{field}`"
    if "README.md" not in files:
        yield "no README.md"
    if name not in WITHOUT_LICENCE_FILE and not any(file.startswith(("LICENSE", "NOTICE")) for file in files):
        yield "neither LICENSE nor NOTICE"
    for file, content in files.items():
        if file.endswith(".rs"):
            for included in INCLUDE.findall(content.decode()):
                path = os.path.normpath(os.path.join(os.path.dirname(file), included))
                if path not in files:
                    yield f"{file} includes {path}, which is not in the package"


def main():
    metadata = json.loads(cargo("metadata", "--no-deps", "--format-version", "1", "--locked"))
    # A list of registries; empty for what is not to be published.
    packages = [package for package in metadata["packages"] if package["publish"] != []]
    names = [argument for package in packages for argument in ("-p", package["name"])]
    cargo("package", *names, "--no-verify", "--locked", "--allow-dirty", "--quiet")
    failed = False
    for package in packages:
        stem = f"{package['name']}-{package['version']}"
        with tarfile.open(f"{metadata['target_directory']}/package/{stem}.crate") as archive:
            members = [member for member in archive.getmembers() if member.isfile()]
            files = {member.name.removeprefix(stem + "/"): archive.extractfile(member).read() for member in members}
        size = os.path.getsize(f"{metadata['target_directory']}/package/{stem}.crate")
        print(f"{stem}: {len(files)} files, {size / 1e6:.1f} MB")
        for problem in problems(package["name"], files):
            print(f"{stem}: {problem}", file=sys.stderr)
            failed = True
    sys.exit(failed)


if __name__ == "__main__":
    main()
