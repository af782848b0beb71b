"""Judges faults in the headers of the adapters by the programs of Tests/AdapterTests that are built with them, host by host."""

import os
import shutil
import time

from faults import BadFault
from processes import ROOT, WORK, copy_tree, run
from verdict import verdict

# Cheap hosts first: toolkits take seconds.
HOSTS = ["epoll", "model_guest", "ev", "uv", "glib", "sd_event", "glib_guest", "glib_model", "sdl", "qt", "gtk4"]
OWN = {"glib": ["glib", "glib_model", "gtk4"], "glib_guest_set": ["glib_guest"], "model_guest": ["model_guest", "glib_model"],
       "dispatch_guest": ["epoll"]}
HOST_LIMIT = 90


class Adapters:
    """A copy of the core and of the adapters. It has one fault at a time."""

    FOLDERS = ["include", "Sources/CRunLoopCore", "Sources/CRunLoop", "Tests/CRunLoopCoreTests", "Tests/AdapterTests", "Tests/LibraryTests",
               "Tests/CTestSupport", "scripts", "packaging"]

    def __init__(self, hosts):
        self.tree = os.path.join(WORK, "adapters")
        copy_tree(self.tree, self.FOLDERS)
        for name in hosts:
            said = self.catches(name)
            if said:
                raise BadFault(f"the cases of {name} fail without a fault: {said}")

    def catches(self, host):
        """Returns what a host's tests report against the fault; None if nothing. Raises BadFault if the tests do not
        compile with the fault, or if the host is not installed."""
        command = ["make", "-f", "scripts/core.mk", "--no-print-directory", "adapter-test"]
        # Fills freed memory, so that a use after free does not find the old content.
        environment = dict(os.environ, ADAPTERS=host, TEST_SECONDS="40", MALLOC_PERTURB_="165")
        status, said = run(command, self.tree, HOST_LIMIT, environment)
        if f"no {host} here" in said:
            raise BadFault(f"there is no {host} here")
        if status != 0 and "error:" in said and "FAIL" not in said:
            raise BadFault(next(line for line in said.split("\n") if "error:" in line)[-200:])
        return None if status == 0 else self.telling_line(said)

    def hosts_of(self, path):
        """Returns the hosts whose programs include a header."""
        name = os.path.basename(path)[:-2]
        if name in ("hosted", "on_stack"):
            return HOSTS
        return OWN.get(name, [name] if name in HOSTS else [])

    def judge(self, fault):
        """Returns (verdict, test, its report)."""
        try:
            fault.put(self.tree, self.tree)
            for host in self.hosts_of(fault.files[0]):
                said = self.catches(host)
                if said:
                    return "noticed", f"host:{host}", said
            return "MISSED", "", ""
        except BadFault as why:
            return "none", "", str(why)
        finally:
            self.restore(fault)

    def restore(self, fault):
        for path in fault.files:
            shutil.copyfile(os.path.join(ROOT, path), os.path.join(self.tree, path))

    @staticmethod
    def telling_line(said):
        lines = said.strip().split("\n")
        return next((line for line in lines if "FAIL" in line or "not true" in line), lines[-1])[:150]


def judge_adapters(mutants, report):
    """Judges the hand-written faults, each by the tests that it names: host:NAME."""
    adapters = Adapters(sorted({test.removeprefix("host:") for mutant in mutants for test in mutant.tests}))
    for mutant in mutants:
        began = time.monotonic()
        try:
            mutant.put(adapters.tree, adapters.tree)
            answers = []
            for test in mutant.tests:
                answers.append((test, adapters.catches(test.removeprefix("host:"))))
                if (answers[-1][1] is None) == mutant.by_each:
                    break
            report(mutant, *verdict(mutant, answers), time.monotonic() - began)
        except BadFault as why:
            report(mutant, "FAIL", str(why), time.monotonic() - began)
        finally:
            adapters.restore(mutant)
