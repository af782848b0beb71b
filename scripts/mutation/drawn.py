"""Faults that a generator draws: universalmutator's rules for C and Swift, under a seed.

The generator is installed once, in build/mutants/generator. It draws no faults in comments, texts, attributes, memory orders,
capacities and costs, assertions, declarations, code that only race detectors see, and text for standard error.
"""

import json
import os
import random
import re
import subprocess
import sys

from faults import Change, Fault
from processes import ROOT, WORK, must

VERSION = "1.14.1"
FOLDER = os.path.join(WORK, "generator")
PYTHON = os.path.join(FOLDER, "bin/python")

# The files of each target.
TARGETS = {
    "core": ["Sources/CRunLoopCore", "Sources/CRunLoop", ":!Sources/CRunLoop/include/crunloop/adapters", "include/crunloop", "include/crunloop_kit"],
    "adapters": ["Sources/CRunLoop/include/crunloop/adapters"],
    "RunLoopKit": ["Sources/RunLoopKit"],
    "RunLoopEvents": ["Sources/RunLoopEvents"],
    "RunLoopPorts": ["Sources/RunLoopPorts"],
    "RunLoopKitC": ["Sources/RunLoopKitC"],
    "RunLoopTesting": ["Sources/RunLoopTesting", "Sources/CRunLoopTesting"],
    "RunLoopMainExecutor": ["Sources/RunLoopMainExecutor"],
}

# Lines that the generator does not change.
KEPT = re.compile("|".join([
    r"^\s*(//|/\*|\*|#|@|import\b|case\b.*:$|default:|\}[;,]?$)", r"__attribute__|_Static_assert|static_assert|RLC_API|__builtin_expect",
    r"^[a-z][\w *]* \*?rl[ck]_\w+\(",  # a function's first line, in C
    r"\bassert\(|precondition|fatalError|rlc_check|RLC_CHECK", r"(?i:capacity|reserve|spin|hint|slack|likely|batch|queueLimit)",
    r"^\s*(?!return |if |for |while |guard |switch |else )(\w+ )+\*?\w+\[[^\]]+\][;,= ]", r"\b(let|var) +\(",
    # Declarations: files that are not compiled again use the old ones.
    r"\bimport\b|\btypealias\b", r"^\s*case [\w ,=()]+$", r"^\s*((?!return|case)[\w()]+ )*(let|var) \w+: [^={]+$",
    r"\{ get (set )?\}|^\s*((public|package|private|convenience|override|required) )*init[?(<]",
    r"(?i:diagnos|report\(|StandardError|fprintf|perror|description|explan)",
    r"@inline|@usableFromInline|@_|\bpublic func\b|\bfunc [\w`]+[(<]|\btypedef\b|^\s*(public |package |private )*(final )?(class|struct|enum|protocol|extension|actor)\b",
]))
ORDER = re.compile(r"memory_order|__ATOMIC|ordering:|[bB]arrier|RaceDetector\.|rlc_(kit_)?(has_)?race_")

RUN_RULES = """
import contextlib, json, sys
from universalmutator import mutator
source = open(sys.argv[1], encoding="utf-8").readlines()
with contextlib.redirect_stdout(sys.stderr):
    made = mutator.mutants_regexp(source, ruleFiles=sys.argv[2:], ignorePatterns=[], ignoreStringOnly=True)
json.dump([(line, text.rstrip("\\n")) for line, text, *_ in made], sys.stdout)
"""


def install():
    if not os.path.exists(PYTHON):
        must([sys.executable, "-m", "venv", FOLDER], ROOT)
        must([PYTHON, "-m", "pip", "install", "--quiet", f"universalmutator=={VERSION}"], ROOT)


def files_of(target):
    listing = must(["git", "ls-files", "--", *TARGETS[target]], ROOT).split("\n")
    return [path for path in listing if path.endswith((".c", ".h", ".swift"))]


def candidates(path):
    """Yields (line number, old text, new text) for each fault that the rules make in a file."""
    if re.search("[rR]ace", os.path.basename(path)):
        return []  # only race detectors see it
    rules = ["universal.rules", "c_like.rules", "swift.rules" if path.endswith(".swift") else "c.rules"]
    source = os.path.join(ROOT, path)
    made = json.loads(must([PYTHON, "-c", RUN_RULES, source, *rules], ROOT, errors=subprocess.DEVNULL))
    with open(source, encoding="utf-8") as file:
        lines = file.read().split("\n")
    bodies = lines_of_bodies(lines) if path.endswith(".h") else range(1, len(lines) + 1)
    return [(number, lines[number - 1], text) for number, text in made if number in bodies and is_drawn(lines[number - 1], text)]


def lines_of_bodies(lines):
    """Returns the numbers of a header's lines that are in functions. Files that are not compiled again use its declarations."""
    numbers, is_inside = set(), False
    for number, line in enumerate(lines, 1):
        if is_inside and not line.startswith("}"):
            numbers.add(number)
        elif is_inside:
            is_inside = False
        elif re.search(r"\)[\w ]* \{$", line) and not line.startswith((" ", "\t", "extern")):
            is_inside = True
    return numbers


def is_drawn(old, new):
    if KEPT.search(old) or ORDER.search(old):
        return False
    if new == re.sub(r"\bvar\b", "let", old):
        return False  # a declaration
    begin = next((index for index, (left, right) in enumerate(zip(old, new)) if left != right), min(len(old), len(new)))
    code = re.split(r"//|/\*", old)[0]
    if begin >= len(code.rstrip()) and "\n" not in new:
        return False  # in a comment
    if re.search(r"\d\d", old[max(begin - 1, 0):begin + 3]):
        return False  # a capacity
    if begin > 0 and re.match(r"\w", old[begin:begin + 1]) and re.match(r"\w", old[begin - 1]):
        return False  # within a name
    return code[:begin].count('"') % 2 == 0  # not within a text


def is_order_for_equality(old, new):
    """Returns whether the fault turns `==` or `!=` into `<`, `<=`, `>` or `>=`. That changes nothing for the least or the greatest
    number of a type, so these faults are not drawn."""
    left, right = (re.findall(r" ([=!<>]=?) ", text) for text in (old, new))
    changed = [pair for pair in zip(left, right) if pair[0] != pair[1]]
    return len(left) == len(right) and len(changed) == 1 and changed[0][0] in ("==", "!=") and changed[0][1] in ("<", "<=", ">", ">=")


def draw(path, seed):
    """Returns the faults of a file in the order of trying."""
    drawn = candidates(path)
    chance = random.Random(f"{seed}/{path}")
    # Most added breaks and continues are dropped: they are a third of what the rules make, and seldom change anything.
    drawn = [fault for fault in drawn if "\n" not in fault[2] or chance.random() < 0.1]
    chance.shuffle(drawn)
    for number, old, new in drawn:
        if is_order_for_equality(old, new):
            continue
        fault = Fault(f"{re.sub('[^A-Za-z0-9]', '_', os.path.basename(path))}_{number}_{abs(hash_of(new)) % 10000}", origin=path)
        fault.header["breaks"] = f"{path}:{number}: {old.strip()} -> {new.strip()}"
        change = LineChange(path, number - 1)
        change.lines = ["-" + old] + ["+" + line for line in new.split("\n")]
        fault.changes.append(change)
        yield fault


def hash_of(text):
    return sum((index + 1) * ord(letter) for index, letter in enumerate(text))


class LineChange(Change):
    """A change of one line, by its number."""

    def __init__(self, path, index):
        super().__init__(path)
        self.index = index

    def put(self, text):
        lines = text.split("\n")
        return "\n".join(lines[:self.index] + self.new() + lines[self.index + 1:])
