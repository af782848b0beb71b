"""Deliberate faults as text: reads them from Tests/Mutants/*/*.faults, and puts one into a source.

    == name_of_the_fault
    breaks: what does not hold any more
    tests: what must notice it                      (more headers: see scripts/mutants)
    in Sources/CRunLoopCore/timers/timer_heap.c
    after static bool is_before(const struct rlc_timer *a, const struct rlc_timer *b)
    -    return a->deadline < b->deadline;
    +    return a->deadline <= b->deadline;

A change begins with `in`; a fault may have several. Lines with a minus are replaced by lines with a plus; lines with a space stay.
The old text must occur once in the file. If it occurs more often, `after` names a line that occurs once, by its text without
indentation: the change is at the first place behind that line. Lines that begin with # between faults are comments.
"""

import os
import re

HEADERS = ("breaks", "tests", "each", "programs", "limit", "equivalent")


class BadFault(Exception):
    pass


class Change:
    """The replacement of one place in a file."""

    def __init__(self, path):
        self.path, self.after, self.lines = path, None, []

    def old(self):
        return [line[1:] for line in self.lines if line[0] in " -"]

    def new(self):
        return [line[1:] for line in self.lines if line[0] in " +"]

    def put(self, text):
        """Returns the text of the file with the change; BadFault unless the old text occurs exactly once."""
        lines, old = text.split("\n"), self.old()
        start = 0
        if self.after is not None:
            anchors = [index for index, line in enumerate(lines) if line.strip() == self.after]
            if len(anchors) != 1:
                raise BadFault(f"{self.path} has {len(anchors)} lines {self.after!r}")
            start = anchors[0] + 1
        places = [index for index in range(start, len(lines) - len(old) + 1) if lines[index:index + len(old)] == old]
        if not places or len(places) > 1 and self.after is None:
            raise BadFault(f"{self.path} has {len(places)} places with {old[0].strip()!r}")
        return "\n".join(lines[:places[0]] + self.new() + lines[places[0] + len(old):])


class Fault:
    def __init__(self, name, kind="", origin=""):
        self.name, self.kind, self.origin = name, kind, origin
        self.header, self.changes, self.tests = {}, [], []

    @property
    def breaks(self):
        return self.header.get("breaks", "")

    @property
    def equivalent(self):
        return self.header.get("equivalent")

    @property
    def by_each(self):
        return "each" in self.header

    @property
    def limit(self):
        """The seconds for each test; 0 for the usual limit."""
        return int(self.header.get("limit", 0))

    @property
    def programs(self):
        return self.header.get("programs", "").split()

    @property
    def files(self):
        return list(dict.fromkeys(change.path for change in self.changes))

    def put(self, source, target):
        """Reads the files below the folder `source` and writes them, with the fault, below `target`."""
        texts = {}
        for path in self.files:
            with open(os.path.join(source, path), encoding="utf-8") as file:
                texts[path] = file.read()
        for change in self.changes:
            texts[change.path] = change.put(texts[change.path])
        for path, text in texts.items():
            os.makedirs(os.path.dirname(os.path.join(target, path)), exist_ok=True)
            with open(os.path.join(target, path), "w", encoding="utf-8") as file:
                file.write(text)


def read(path, kind=""):
    """Returns the faults of a file, in their order; BadFault names a line that cannot be read."""
    faults = []
    with open(path, encoding="utf-8") as file:
        lines = file.read().split("\n")
    for number, line in enumerate(lines, 1):
        try:
            read_line(line, faults, kind, path)
        except (IndexError, ValueError):
            raise BadFault(f"{path}:{number}: {line!r} is no line of a fault here") from None
    for fault in faults:
        fault.tests = fault.header.get("tests", fault.header.get("each", "")).split()
        if not fault.changes or not all(change.lines for change in fault.changes):
            raise BadFault(f"{path}: {fault.name} changes nothing")
    return faults


def read_line(line, faults, kind, path):
    found = re.match(r"== (\w+)$", line)
    if found:
        faults.append(Fault(found.group(1), kind, path))
    elif line.startswith("in "):
        faults[-1].changes.append(Change(line[3:].strip()))
    elif line.startswith("after "):
        faults[-1].changes[-1].after = line[6:].strip()
    elif line[:1] in ("+", "-", " ") and line:
        faults[-1].changes[-1].lines.append(line)
    elif line and not line.startswith("#"):
        name, text = line.split(": ", 1)
        if name not in HEADERS or faults[-1].changes:
            raise ValueError
        faults[-1].header[name] = text.strip()
