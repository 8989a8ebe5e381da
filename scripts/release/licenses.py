#!/usr/bin/env python3
"""Writes the license notices of everything linked into Petteia's programs, or checks that they are up to date.

    scripts/release/licenses.py            writes src/cli/licenses/linked.txt, cloud.txt and vulkan.txt, src/page/file/linked.txt and python/LICENSES.txt
    scripts/release/licenses.py --check    exits with 1 if Cargo.lock or the dependencies of Cargo.toml have changed since; needs no network

The packages are those that `cargo tree --edges normal` lists on Linux, macOS, Windows, and FreeBSD. linked.txt has the packages of the
default features; cloud.txt and vulkan.txt have the additional packages of the features cloud and vulkan. The program in a page has the
packages for WebAssembly, and the Python module has its own list. The license texts come from the sources downloaded by cargo, including
the C code in subfolders; those of Rust's standard library come from the toolchain. If a package offers a choice of licenses, the script
takes one, MIT if possible. Packages with the same license text share one copy. The same versions give the same bytes. Uses only
Python's standard library and cargo.
"""

import argparse
import hashlib
import html
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "src/cli/licenses"
PAGE = ROOT / "src/page/file/linked.txt"
MODULE = ROOT / "python/LICENSES.txt"
SEAL = "Made for the dependencies with SHA-256 "
# systems for which programs are built
TARGETS = [f"{cpu}-{system}" for cpu in ["x86_64", "aarch64"] for system in ["unknown-linux-gnu", "unknown-linux-musl", "apple-darwin", "pc-windows-msvc", "unknown-freebsd"]]
# packages of this repository
OWN = {"petteia", "petteia-python"}
# if a package offers alternatives, the first of these that it offers is chosen
PREFERRED = ["MIT", "ISC", "Zlib", "BSD-3-Clause", "BSD-2-Clause", "0BSD", "BSL-1.0", "Unicode-3.0", "Apache-2.0", "MPL-2.0"]
# texts that identify these licenses
MARKS = [
    ("MPL-2.0", "Mozilla Public License"),
    ("GPL", "GNU GENERAL PUBLIC LICENSE"),
    ("Unicode-3.0", "UNICODE LICENSE"),
    ("BSL-1.0", "Boost Software License"),
    ("Unlicense", "This is free and unencumbered software"),
    ("CC0-1.0", "CC0 1.0 Universal"),
    ("Zlib", "This software is provided 'as-is'"),
    ("Zlib", "This software is provided ‘as-is’"),
    ("BSD", "Redistribution and use in source and binary forms"),
    ("ISC", "Permission to use, copy, modify, and"),
    ("0BSD", "Permission to use, copy, modify, and"),
    ("MIT", "Permission is hereby granted, free of charge"),
    ("Apache-2.0", "Apache License"),
]
NAMES = re.compile(r"^(licen[cs]e|copying|copyright|notice|unlicense|third[-_]?party)", re.I)
NO_TEXT = {".rs", ".py", ".toml", ".json", ".yml", ".yaml", ".html", ".js", ".c", ".h", ".sh", ".hbs"}
# folders of packages with parts that are not linked
ASIDE = {"tests", "test", "benches", "examples", "example", "doc", "docs", "fuzz", "tools", "scripts", "ci", "xtask", "target"}
# zstd's C code may be used under BSD or the GPL
NOT_CHOSEN = {("zstd-sys", "zstd/COPYING")}
# packages in Rust's standard library for systems that Petteia does not support
ELSEWHERE = re.compile(r"^(fortanix|hermit|moto|vex|wasi|wit-bindgen|r-efi|dlmalloc|unwinding)")
# license texts that name no owner, each copied from some package
IMPERSONAL = {}
# what zig adds when it links (scripts/release/release.sh)
LINKER = "Programs of released packages also contain LLVM's libunwind: Apache-2.0 WITH LLVM-exception, which asks for no notice in them."
RULE = "=" * 100


def run(*command):
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


def fingerprint():
    """A hash of everything that determines what is linked."""
    lock = tomllib.loads((ROOT / "Cargo.lock").read_text())
    manifest = tomllib.loads((ROOT / "Cargo.toml").read_text())
    # the repository's own packages have no source
    others = [package for package in lock["package"] if "source" in package]
    packages = [{key: package.get(key) for key in ["name", "version", "source", "checksum"]} for package in others]
    tables = [manifest.get(key) for key in ["features", "dependencies", "target"]]
    return hashlib.sha256(json.dumps([packages, tables], sort_keys=True).encode()).hexdigest()


def linked(*features, targets=TARGETS):
    """Returns (name, version) of the packages in a program with these features, given as flags of cargo."""
    options = ["--locked", "--edges", "normal", "--prefix", "none", "--format", "{p}"]
    options += [word for target in targets for word in ["--target", target]]
    lines = run("cargo", "tree", *options, *features).splitlines()
    found = {tuple(line.split()[:2]) for line in lines if line.strip()}
    return sorted((name, version.removeprefix("v")) for name, version in found if name not in OWN)


def alternatives(expression):
    """Parses a license expression: `(MIT OR Apache-2.0) AND Unicode-3.0` becomes [[MIT, Apache-2.0], [Unicode-3.0]]."""
    # an exception only grants further rights
    expression = expression.replace("/", " OR ").replace(" WITH LLVM-exception", "")
    parts = [part.strip().strip("()") for part in re.split(r"\bAND\b", expression)]
    return [[one.strip() for one in re.split(r"\bOR\b", part)] for part in parts]


def chosen(expression):
    def best(choice):
        known = [one for one in PREFERRED if one in choice]
        if not known:
            sys.exit(f"no known license in `{expression}`: check it, and add it to PREFERRED")
        return known[0]
    return [best(choice) for choice in alternatives(expression)]


def kind(text):
    flat = " ".join(text.split())
    found = [name for name, mark in MARKS if mark.lower() in flat.lower()]
    return found[0] if found else None


def of_kind(license, text_kind):
    return text_kind is not None and (license == text_kind or license.startswith(text_kind) or (license == "0BSD" and text_kind == "ISC"))


def tidy(text):
    lines = [line.rstrip() for line in text.replace("\r\n", "\n").replace("\t", "    ").splitlines()]
    return "\n".join(lines).strip("\n").lstrip("\ufeff")


def files_of(name, folder):
    """The texts in a package's folder, by path."""
    texts = {}
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder)
        aside = any(part.lower() in ASIDE or part.startswith(".") for part in inside.parts[:-1])
        if path.is_file() and NAMES.match(path.name) and path.suffix.lower() not in NO_TEXT and not aside \
                and (name, inside.as_posix()) not in NOT_CHOSEN:
            texts[inside.as_posix()] = tidy(path.read_text(errors="replace"))
    return {path: text for path, text in texts.items() if text}


def notices(name, expression, texts, authors):
    """The texts required for this package: those of the chosen licenses, and any text that belongs to none of the other licenses."""
    wanted = chosen(expression)
    others = {one for choice in alternatives(expression) for one in choice} - set(wanted)
    keep = []
    for path, text in texts.items():
        what = kind(text)
        if what == "GPL":
            sys.exit(f"{name}: {path} is the GPL: check it")
        if any(of_kind(one, what) for one in wanted) or not any(of_kind(one, what) for one in others):
            keep.append(text)
    for license in wanted:
        if not any(of_kind(license, kind(text)) for text in keep):
            keep.append(standard(license, name, authors))
    return keep


def standard(license, name, authors):
    """The text of a license for a package that does not include the text."""
    who = ", ".join(re.sub(r"\s*<.*?>", "", author) for author in authors) or f"the {name} developers"
    if license == "MIT":
        text = (ROOT / "LICENSE-MIT").read_text()
        return tidy(re.sub(r"Copyright.*", f"Copyright (c) {who}", text, count=1))
    if license == "Apache-2.0":
        return tidy((ROOT / "LICENSE-APACHE").read_text())
    if license in IMPERSONAL:
        return IMPERSONAL[license]
    sys.exit(f"{name} has no text of {license}: check it")


def standard_library():
    """The toolchain's information about the packages in Rust's standard library: (label, expression, texts, authors)."""
    folder = Path(run("rustc", "--print", "sysroot").strip()) / "share/doc/rust"
    page = (folder / "COPYRIGHT-library.html").read_text()
    yield "Rust's standard library", "MIT OR Apache-2.0", {}, ["The Rust Project Developers"]
    unicode = tidy((folder / "licenses/Unicode-3.0.txt").read_text())
    yield "Rust's standard library (Unicode tables)", "Unicode-3.0", {"Unicode-3.0.txt": unicode}, []
    for part in page.split("<h3>")[1:]:
        title = re.match(r"\S* ?(\S+)</h3>", part)
        if not title or "<b>URL:</b>" not in part or ELSEWHERE.match(title.group(1)):
            continue
        expression = html.unescape(re.search(r"<b>License:</b> (.*?)</p>", part).group(1))
        authors = html.unescape(re.search(r"<b>Authors:</b> (.*?)</p>", part, re.S).group(1)).split(", ")
        pairs = re.findall(r"<summary><code>(.*?)</code></summary>\s*<pre>(.*?)</pre>", part, re.S)
        texts = {name: tidy(html.unescape(text)) for name, text in pairs if NAMES.match(name)}
        yield f"{title.group(1)} (in Rust's standard library)", expression, texts, authors


def grouped(packages):
    """License texts, each with the labels of the packages that have it, ordered by the first label."""
    groups = {}
    for label, expression, texts, authors in packages:
        for text in notices(label, expression, texts, authors):
            key = " ".join(text.split()).lower()
            groups.setdefault(key, (text, []))[1].append(label)
    return sorted(((sorted(set(labels)), text) for text, labels in groups.values()), key=lambda group: (group[0], group[1]))


def document(packages, extra, heading):
    described = {(name, version): about for name, version, about in packages}
    lines = [heading, ""]
    for (name, version), about in sorted(described.items()):
        lines.append(f"  {name} {version}: {about['license']}")
    weak = [f"{name} {version}" for (name, version), about in sorted(described.items()) if "MPL-2.0" in chosen(about["license"])]
    lines += ["", "The source of each, unmodified, is at https://crates.io/crates/NAME/VERSION."]
    if weak:
        lines.append(f"For {', '.join(weak)} that is the source form of which the Mozilla Public License 2.0 speaks.")
    if extra:
        lines.append(LINKER)
    entries = [(f"{name} {version}", about["license"], about["texts"], about["authors"]) for name, version, about in packages]
    for labels, text in grouped(entries + extra):
        lines += ["", RULE, *wrapped(labels), RULE, "", text]
    return "\n".join(lines) + "\n"


def wrapped(labels):
    lines, line = [], ""
    for label in labels:
        part = f"{label}, " if label != labels[-1] else label
        if line and len(line) + len(part) > len(RULE):
            lines, line = lines + [line.rstrip()], ""
        line += part
    return lines + [line]


def described(names):
    """The packages with the information from their manifests and folders."""
    known = json.loads(run("cargo", "metadata", "--locked", "--format-version", "1", "--all-features"))["packages"]
    known = {(package["name"], package["version"]): package for package in known}
    for key in names:
        package = known[key]
        folder = Path(package["manifest_path"]).parent
        texts = files_of(key[0], folder)
        for text in texts.values():
            if kind(text) in {"MPL-2.0", "BSL-1.0"}:
                IMPERSONAL.setdefault(kind(text), text)
        license = package["license"]
        if not license:
            sys.exit(f"{key} names no license: check it")
        yield *key, {"license": license, "texts": texts, "authors": package["authors"]}


def write():
    plain = linked()
    more = {name: [key for key in linked("--features", name) if key not in plain] for name in ["cloud", "vulkan"]}
    page = linked("--no-default-features", targets=["wasm32-unknown-unknown"])
    module = linked("--package", "petteia-python")
    seal = f"{SEAL}{fingerprint()}"
    rust = run("rustc", "--version").split()[1]
    rest = f"and Rust's standard library ({rust})\n{seal}"
    library = list(standard_library())
    texts = {
        FOLDER / "linked.txt": document(list(described(plain)), library, f"Packages in programs that are built with Petteia, {rest}"),
        **{FOLDER / f"{name}.txt": document(list(described(keys)), [], f"Packages that the feature `{name}` adds") for name, keys in more.items()},
        PAGE: document(list(described(page)), library, f"Packages in the program of a page in one file, {rest}"),
        MODULE: document(list(described(module)), library, f"Packages in the Python module, {rest}"),
    }
    for path, text in texts.items():
        path.write_text(text)
        print(f"{path.relative_to(ROOT)}: {len(text.encode())} bytes")


def check():
    for path in [FOLDER / "linked.txt", PAGE, MODULE]:
        if f"\n{SEAL}{fingerprint()}\n" not in path.read_text():
            sys.exit(f"{path.relative_to(ROOT)} does not match the dependencies: run scripts/release/licenses.py and check the changes")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--check", action="store_true", help="only compare with Cargo.lock and Cargo.toml")
    check() if parser.parse_args().check else write()


if __name__ == "__main__":
    main()
