"""The two scores: of faults that a generator draws, and of faults by an author who does not know the tests."""

import concurrent.futures
import datetime
import math
import os
import queue
import random
import re
import time

import drawn
from faults import BadFault, read
from places import FAULTS, Places, read_noticed, write_noticed
from processes import ROOT, must
from score import AdapterScore, CoreScore, KitScore, judge_all

NIGHTS = os.path.join(ROOT, "Tests/nights.txt")
WRITTEN_OFF = os.path.join(FAULTS, "written-off.txt")
GOAL = 0.9
# A target is red if tests that notice each fault with the chance GOAL would score so low with less than this chance.
CHANCE = 0.05
EACH = {".c": 10, ".h": 10, ".swift": 5}
TRIES = 6


def score_of(target):
    """Returns (the judge of a target's faults, how many it judges side by side)."""
    places, processors = Places(), os.cpu_count()
    if target == "core":
        return CoreScore(places), processors
    if target == "adapters":
        return AdapterScore(places), 1
    return KitScore(places), processors + 2


def target_of(path):
    for target, folders in drawn.TARGETS.items():
        if path.startswith(tuple(folder + "/" for folder in folders)):
            return target
    raise BadFault(f"{path} is in no target: {', '.join(drawn.TARGETS)}")


def read_written_off():
    """Returns {(file, old, new)} for the faults that break no promise; each line: FILE, OLD, NEW, REASON with tabs between."""
    if not os.path.exists(WRITTEN_OFF):
        return set()
    with open(WRITTEN_OFF, encoding="utf-8") as file:
        lines = [line.rstrip("\n").split("\t") for line in file if line.strip() and not line.startswith("#")]
    bad = [line for line in lines if len(line) != 4]
    if bad:
        raise BadFault(f"{WRITTEN_OFF}: FILE, OLD, NEW, REASON with tabs between, not {bad[0]}")
    return {tuple(line[:3]) for line in lines}


def key_of(fault):
    change = fault.changes[0]
    return change.path, change.old()[0].strip(), " ".join(line.strip() for line in change.new())


class Tally:
    def __init__(self):
        self.noticed, self.missed, self.off = 0, [], []
        self.tests = {path: set(tests) for path, tests in read_noticed().items()}

    def add(self, fault, verdict, test="", said=""):
        if verdict == "noticed":
            self.noticed += 1
            if test:
                self.tests.setdefault(fault.files[0], set()).add(test)
        elif verdict == "off":
            self.off.append(fault)
        elif verdict == "MISSED":
            self.missed.append(fault)
        if verdict != "none":
            print(f"{verdict:7} {fault.name}: {fault.breaks}  [{test}: {said}]", flush=True)

    def line(self):
        total = self.noticed + len(self.missed)
        return f"{self.noticed} of {total} noticed, {len(self.off)} written off"


def draw(target, seed, each, minutes, is_red=False):
    """Judges a sample of each file's faults while the time lasts. The seed decides the order. `is_red`: only of files
    without a test. Returns the exit status: 1 if the tests noticed nothing."""
    drawn.install()
    score, workers = score_of(target)
    places = Places()
    files = [path for path in drawn.files_of(target) if not is_red or not places.of(path)]
    random.Random(f"{seed}/{target}").shuffle(files)
    ends = time.monotonic() + 60 * minutes
    tally, off, waiting = Tally(), read_written_off(), queue.SimpleQueue()
    for path in files:
        waiting.put(path)

    def work():
        while time.monotonic() < ends:
            try:
                path = waiting.get_nowait()
            except queue.Empty:
                return
            sample(path)

    def sample(path):
        wanted = each or EACH[os.path.splitext(path)[1]]
        judged = 0
        for number, fault in enumerate(drawn.draw(path, seed)):
            if judged == wanted or number == TRIES * wanted or time.monotonic() > ends:
                return
            if key_of(fault) in off:
                tally.add(fault, "off")
                continue
            verdict, test, said = score.judge(fault)
            tally.add(fault, verdict, test, said)
            judged += verdict in ("noticed", "MISSED")

    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        for worker in [pool.submit(work) for _ in range(workers)]:
            worker.result()
    write_noticed(tally.tests)
    if not is_red:
        note("generated-" + target, seed, tally.line())
    print(f"{target}: {tally.line()}, {waiting.qsize()} of {len(files)} files not reached")
    return 0 if tally.noticed else 1


def judge_files(paths, minutes):
    """Prints the score of faults that name no tests, target by target."""
    by_target = {}
    for path in paths:
        for fault in read(path):
            by_target.setdefault(target_of(fault.files[0]), []).append(fault)
    lines = []
    for target, faults in by_target.items():
        score, workers = score_of(target)
        tally, bad = Tally(), 0
        for fault, verdict, test, said in judge_all(score, faults, workers, time.monotonic() + 60 * minutes):
            tally.add(fault, verdict, test, said)
            if verdict in ("none", "equal"):
                bad += 1
                print(f"{verdict:7} {fault.name}: {said}", flush=True)
        write_noticed(tally.tests)
        lines.append(f"{target}: {tally.line()}, {bad} that do not compile or change nothing")
    print("\n".join(lines))
    return 0


def note(part, seed, figures):
    """Writes one line of the nights: date, commit, part, seed, figures."""
    commit = must(["git", "describe", "--always", "--dirty"], ROOT).strip()
    with open(NIGHTS, "a", encoding="utf-8") as file:
        file.write(f"{datetime.date.today()} {commit} {part} seed={seed} {figures}\n")


def pool():
    """Adds up the nights, target by target. A line counts unless a later line has the same part and seed. Returns the
    exit status: 1 if a target is red."""
    last = {}
    with open(NIGHTS, encoding="utf-8") as file:
        for line in file:
            words = line.split()
            if len(words) > 6 and words[2].startswith("generated-"):
                last[words[2], words[3]] = int(words[4]), int(words[6])
    status = 0
    for target in drawn.TARGETS:
        nights = [figures for (part, _), figures in last.items() if part == f"generated-{target}"]
        noticed, total = map(sum, zip(*nights)) if nights else (0, 0)
        is_red = total > 0 and chance_of(noticed, total) < CHANCE
        status = status or int(is_red)
        share = f"{100 * noticed / total:.1f} %" if total else "no night yet"
        print(f"{'FAIL' if is_red else 'ok  '} {target}: {noticed} of {total} generated faults noticed in {len(nights)} nights, {share}")
    return status


def chance_of(noticed, total):
    """Returns the chance that tests which notice each fault with the chance GOAL notice at most so many."""
    return sum(math.comb(total, count) * GOAL ** count * (1 - GOAL) ** (total - count) for count in range(noticed + 1))


def has_open_faults(path, off):
    """Returns whether the rules make a fault in the file that is not written off, and does more than remove a declaration."""
    for _, old, new in drawn.candidates(path):
        is_declaration = new.strip().startswith("/*") and re.match(r"(\w+ )*(var|let) ", old.strip())
        if "\n" not in new and not is_declaration and (path, old.strip(), new.strip()) not in off:
            return True
    return False


def table():
    """Writes docs/tests.md: each source file, and its tests."""
    drawn.install()
    places, off = Places(), read_written_off()
    lines = ["# Where the tests of a source file are", "",
             "Made by `scripts/mutants --table`. A file has the tests that have noticed a deliberate fault in it. Files without any are red.",
             "Files marked 'only declarations' hold nothing that the generator can change.", ""]
    red = 0
    for target in drawn.TARGETS:
        lines += [f"## {target}", "", "| file | tests |", "|---|---|"]
        for path in drawn.files_of(target):
            words = ", ".join(f"`{test}`" for test in places.of(path)[:6])
            if not words:
                words = "**red: no test notices a fault here**" if has_open_faults(path, off) else "only declarations"
            red += words.startswith("**red")
            lines.append(f"| {path} | {words} |")
        lines.append("")
    with open(os.path.join(ROOT, "docs/tests.md"), "w", encoding="utf-8") as file:
        file.write("\n".join(lines).rstrip() + "\n")
    print(f"docs/tests.md: {red} files without a test")
    return 0
