"""Counts how many faults of a set the tests notice, for written and for drawn faults. Runs first the tests of the
changed file, then all tests of the target. If a fault is noticed only when all tests run, the test that has reported it
runs once more, alone."""

import concurrent.futures
import os
import re
import shutil
import time

from adapters import HOSTS, Adapters
from core import Cores
from faults import BadFault
from package import ISSUE, SKIP, FAILURE, SWIFT_LIMIT, Kit
from processes import ROOT, WORK, must, run_told

ALL_LIMIT = 420
NEAR_TESTS = 12
# Fuzz and stress tests take long, and belong to no single promise.
LONG = r"HostilePeersTests|RandomCallsTests|StressTests"


class CoreScore:
    """Faults of the core, judged side by side."""

    def __init__(self, places):
        self.places, self.cores = places, Cores()

    def judge(self, fault):
        """Returns (verdict, test, its report)."""
        near = [test for test in self.places.of(fault.files[0]) if re.match(r"scheduled:|.*_test$", test)]
        mirror = os.path.basename(fault.files[0])[:-2] + "_test"
        tests = self.cores.first.test_names()
        order = list(dict.fromkeys([mirror] * (mirror in tests) + near + tests + ["scheduled:"]))
        with self.cores.one() as core:
            return core.notice(fault, order)


class KitScore:
    """Faults of the package's modules, judged side by side."""

    def __init__(self, places):
        self.places = places
        self.kit = Kit(["RLK"])

    def judge(self, fault):
        folder = os.path.join(WORK, "changed", fault.name)
        shutil.rmtree(folder, ignore_errors=True)
        fault.header["programs"] = " ".join(self.kit.module_of("RLK").programs_of(fault.files))
        try:
            fault.put(self.kit.tree, folder)
            return self.judge_in(folder, fault)
        except BadFault as why:
            return "none", "", str(why)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def judge_in(self, folder, fault):
        tests = self.kit.module_of("RLK")
        error, program = tests.build(fault, folder)
        if error:
            return "none", "", error
        near = self.places.of(fault.files[0])
        around = [test for test in self.places.around(fault.files[0]) if test not in near][:NEAR_TESTS]
        for test in near + around:
            said = self.catches(fault, test, program, folder)
            if said:
                return "noticed", test, said
        if tests.is_same(fault, folder):
            return "equal", "", ""
        return self.judge_by_all(program)

    def catches(self, fault, test, program, folder):
        if ":" in test and not test.startswith("testing:"):
            build = self.kit.module_of(test)
            error, program = build.build(fault, folder)
            if error:
                return None
        return self.says(test, program)

    def says(self, test, program):
        """Returns what a test reports against a fault. A hang counts only if the test does not hang without the fault."""
        said = self.kit.catches(test, SWIFT_LIMIT, program)
        if said and re.match(SKIP, said):
            return None
        if said == "out of time" and self.kit.catches(test, SWIFT_LIMIT):
            return None
        return said

    def judge_by_all(self, program):
        told = []
        names = [name for name in self.kit.module_of("RLK").names if name and not re.search(LONG, name)]
        for options in ([",".join(names)], ["--testing-library", "swift-testing"]):
            deaths = 0
            for _ in range(2):
                status, said, running = run_told([program, *options], self.kit.tree, ALL_LIMIT, self.kit.environment,
                                                 f"{FAILURE}|{ISSUE}")
                if status == 0:
                    break
                deaths += "Fatal error" in (said or "") or (status or 0) < 0
                # If the process died, no line names the test that killed it. It is one of the running tests.
                tests = [name_of(line, len(options) > 1) for line in [said or "", *running[-NEAR_TESTS:]]]
                said = said or f"status {status}"
                for test in tests[:1] if tests[0] else filter(None, tests):
                    # On a loaded machine a test may fail without the fault too.
                    if self.says(test, program) and not self.kit.catches(test, SWIFT_LIMIT):
                        return "noticed", test, said[-150:]
                told.append(said[-150:])
            # The fault is noticed: on a loaded machine tests may fail, but they do not end the process.
            if deaths == 2:
                return "noticed", "", told[-1]
        return "MISSED", "", "; ".join(told)


class AdapterScore:
    """Faults of the adapters, judged in the hosts, then in the package's tests that include them."""

    def __init__(self, places):
        self.places, self.adapters, self.kit = places, Adapters(HOSTS), None

    def judge(self, fault):
        answer = self.adapters.judge(fault)
        if answer[0] != "MISSED":
            return answer
        self.kit = self.kit or KitScore(self.places)
        if not self.kit.kit.module_of("RLK").users_of(fault.files[0]):
            return answer
        return self.kit.judge(fault)


def name_of(line, is_swift_testing):
    """Returns the test that a line of XCTest or Swift Testing names."""
    if is_swift_testing:
        found = re.search(r"Test (?:\".*\"|(\w+)\(.*?\)) (?:recorded|started)", line)
        if found and found.group(1):
            return f"testing:{found.group(1)}"
        # A failure on a thread of the test's own does not name the test.
        found = re.search(r"recorded an issue.* at (\w+\.swift):(\d+):", line)
        name = found and test_at(found.group(1), int(found.group(2)))
        return f"testing:{name}" if name else None
    found = re.search(r"error: (\w+)\.(\w+) :", line) or re.search(r"Test Case '([\w.]+)\.(\w+)'", line)
    return f"{found.group(1)}/{found.group(2)}$" if found else None


def test_at(base, line):
    """Returns the name of the test of Swift Testing that contains the line of a file."""
    for path in must(["git", "ls-files", "--", f"Tests/**/{base}"], ROOT).split():
        with open(os.path.join(ROOT, path), encoding="utf-8") as file:
            names = re.findall(r"@Test\b[^{]*?\bfunc (\w+)", "".join(file.readlines()[:line]))
        if names:
            return names[-1]
    return None


def judge_all(score, faults, workers, ends):
    """Yields (fault, verdict, test, report) for each fault that is judged before `ends`."""
    def judge(fault):
        return score.judge(fault) if time.monotonic() < ends else ("none", "", "out of time")

    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        jobs = {pool.submit(judge, fault): fault for fault in faults}
        for job in concurrent.futures.as_completed(jobs):
            yield (jobs[job], *job.result())
