"""Finds the tests of a source file: those that its hand-written faults name, and those that have noticed generated faults."""

import os

from faults import read
from processes import ROOT

FAULTS = os.path.join(ROOT, "Tests/Mutants")
NOTICED = os.path.join(FAULTS, "noticed.txt")
HEAD = """# Each source file, and the tests that have noticed a fault in it which nobody wrote beside them: scripts/mutants --draw and --judge
# add to it.
"""
KINDS = ("core", "adapters", "swift")


def read_all():
    """Reads the hand-written faults of all files, sorted by kind and file."""
    faults = []
    for kind in KINDS:
        folder = os.path.join(FAULTS, kind)
        for name in sorted(os.listdir(folder) if os.path.isdir(folder) else []):
            if name.endswith(".faults"):
                faults += read(os.path.join(folder, name), kind)
    return faults


def read_noticed():
    """Reads {file: tests} from lines `FILE TEST...`."""
    if not os.path.exists(NOTICED):
        return {}
    with open(NOTICED, encoding="utf-8") as file:
        lines = [line.split() for line in file if line.strip() and not line.startswith("#")]
    return {words[0]: words[1:] for words in lines}


def write_noticed(noticed):
    with open(NOTICED, "w", encoding="utf-8") as file:
        file.write(HEAD)
        for path in sorted(noticed):
            file.write(" ".join([path, *sorted(noticed[path])]) + "\n")


class Places:
    def __init__(self):
        self.noticed = read_noticed()
        self.named = {}
        for fault in read_all():
            for path in fault.files:
                if fault.kind != "core" or path.startswith(("Sources/CRunLoop", "include")):
                    self.named.setdefault(path, {}).update(dict.fromkeys(fault.tests))

    def of(self, path):
        """Returns the tests of a file, first those that have noticed a fault, then those that hand-written faults
        name."""
        return list(dict.fromkeys(self.noticed.get(path, []) + list(self.named.get(path, []))))

    def around(self, path):
        """Returns the tests of the file's folder."""
        folder, tests = os.path.dirname(path), {}
        for other in sorted(set(self.named) | set(self.noticed)):
            if os.path.dirname(other) == folder:
                tests.update(dict.fromkeys(self.of(other)))
        return list(tests)
