"""Judges faults in the C core: compiles only the files that a fault changes."""

import concurrent.futures
import contextlib
import copy
import glob
import os
import queue
import shutil
import sys
import time

from faults import BadFault
from processes import ROOT, WORK, copy_tree, must, run
from verdict import verdict

# Without a fault a test must end within USUAL_LIMIT seconds, all scheduled tests together within five times that. With
# a fault this program ends the test after LEAST seconds, or after TIMES its usual time if that is longer. Then it runs
# the test once more, for PATIENCE times as long.
USUAL_LIMIT = 60
LEAST, TIMES = 4, 10
PATIENCE = 3
STRICT = ["-std=c11", "-w", "-D_GNU_SOURCE", "-DRLC_INTERNAL_CHECKS", "-Iinclude", "-ISources/CRunLoop/include",
          "-ISources/CRunLoopCore/internal", "-ISources/CRunLoop/internal"]
WRAPS = "-Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=free"


class Core:
    """A copy of the core and its tests, with objects of two kinds: plain, and for the scheduler."""

    TESTS = ["Tests/CRunLoopCoreTests", "Tests/CRunLoopTests"]
    FOLDERS = ["include", "Sources/CRunLoopCore", "Sources/CRunLoop", *TESTS, "Tests/Scheduled"]
    PLAIN = STRICT + [f"-I{folder}" for folder in TESTS] + ["-g", "-O0"]
    SCHEDULED = STRICT + ["-ITests/Scheduled", "-g", "-O1"]
    RUNTIME = ["scheduler.c", "memory.c", "fake_kernel.c"]

    def __init__(self, tree):
        self.tree = tree
        shutil.rmtree(tree, ignore_errors=True)
        copy_tree(tree, self.FOLDERS)
        self.needs, self.limits = {}, {}
        core = self.below("Sources/CRunLoopCore") + self.below("Sources/CRunLoop")
        tests = [path for folder in self.TESTS for path in self.below(folder)]
        scheduled = [f"Tests/Scheduled/{name}" for name in self.names("Tests/Scheduled")]
        self.core, self.tests = core, tests
        self.objects = [(path, "plain") for path in core + tests]
        self.objects += [(path, "scheduled") for path in core + scheduled]

    def twin(self, tree):
        """Returns a second tree in another folder."""
        shutil.rmtree(tree, ignore_errors=True)
        shutil.copytree(self.tree, tree)
        other = copy.copy(self)
        other.tree = tree
        return other

    def names(self, folder):
        return sorted(name for name in os.listdir(os.path.join(self.tree, folder)) if name.endswith(".c"))

    def below(self, folder):
        """Returns the C files of a folder and of the folders in it."""
        found = glob.glob(os.path.join(self.tree, folder, "**", "*.c"), recursive=True)
        return sorted(os.path.relpath(path, self.tree) for path in found)

    def command(self, path, kind):
        is_runtime = os.path.basename(path) in self.RUNTIME
        flags = self.PLAIN if kind == "plain" else self.SCHEDULED + ([] if is_runtime else ["-fsanitize=thread"])
        return ["gcc", *flags, "-MMD", "-c", path, "-o", self.object(path, kind)]

    def object(self, path, kind):
        return os.path.join("objects", kind, os.path.basename(path)[:-2] + ".o")

    def compile_all(self):
        """Returns the compiler's error; None if there is none."""
        for kind in ("plain", "scheduled"):
            os.makedirs(os.path.join(self.tree, "objects", kind), exist_ok=True)
        said = self.compile(self.objects)
        if not said:
            self.learn_needs()
        return said

    def compile(self, objects):
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            results = list(pool.map(lambda item: run(self.command(*item), self.tree), objects))
        return next((output for status, output in results if status != 0), None)

    def learn_needs(self):
        for item in self.objects:
            with open(os.path.join(self.tree, self.object(*item))[:-2] + ".d", encoding="utf-8") as file:
                self.needs[item] = set(file.read().replace("\\\n", " ").split()[1:])

    def concerned(self, files, kinds):
        changed = {os.path.normpath(path) for path in files}
        return [item for item in self.objects
                if item[1] in kinds and any(os.path.normpath(need) in changed for need in self.needs[item])]

    def link(self, test):
        kind = "scheduled" if test.startswith("scheduled:") else "plain"
        program = "core_scheduled" if kind == "scheduled" else test
        objects = [self.object(path, kind) for path in self.core]
        if kind == "plain":
            objects += [self.object(f"x/{name}.c", kind) for name in (test, "harness")]
            flags = [WRAPS]
        else:
            objects += [self.object(name, kind) for name in self.RUNTIME + ["core_scheduled.c"]]
            flags = ["-Wl,--wrap=syscall"]
        status, said = run(["gcc", *objects, "-pthread", *flags, "-o", program], self.tree)
        if status != 0:
            raise BadFault(f"does not link: {said[-200:]}")
        return ["./" + program] + ([name for name in test.split(":")[1:] if name] if kind == "scheduled" else [])

    def learn_limit(self, test):
        """Sets the test's limit from its time without a fault. Ends this program if the test fails without one."""
        began = time.monotonic()
        said = self.catches(test, USUAL_LIMIT * (5 if test == "scheduled:" else 1))
        if said:
            sys.exit(f"mutants: {test} fails without a fault: {said}")
        self.limits[test] = max(LEAST, TIMES * (time.monotonic() - began))

    def catches(self, test, limit):
        """Returns what the test reports against the fault; None if nothing."""
        status, output = run(self.link(test), self.tree, limit)
        if status == 0:
            return None
        return output.strip().split("\n")[-1 if status is None else 0][:110] or f"status {status}"

    def says(self, test, limit):
        """Returns what the test reports. On a loaded machine a slow test may reach the limit, so it then runs again
        with a longer limit, which only a test that hangs reaches."""
        said = self.catches(test, limit)
        return self.catches(test, PATIENCE * limit) if said == "out of time" else said

    def test_names(self):
        return [os.path.basename(path)[:-2] for path in self.tests if path.endswith("_test.c")]

    def notice(self, mutant, tests):
        """Returns (verdict, test, its report) for the first test that notices the fault."""
        concerned = self.concerned(mutant.files, {"plain", "scheduled"})
        with self.kept(mutant, concerned):
            answer = self.notice_in_place(mutant, tests, concerned)
        _, test, said = answer
        if said == "out of time" and self.says(test, self.limit_of(test)) == said:
            return "none", "", f"{test} is out of time without the fault too"
        return answer

    def notice_in_place(self, mutant, tests, concerned):
        try:
            mutant.put(self.tree, self.tree)
            if not concerned or not self.is_sound(mutant) or self.compile(concerned):
                return "none", "", "does not compile"
            if self.is_same(mutant):
                return "equal", "", ""
            for test in tests:
                said = self.says(test, self.limit_of(test))
                if said:
                    return "noticed", test, said
            return "MISSED", "", ""
        except BadFault as why:
            return "none", "", str(why)

    def limit_of(self, test):
        return self.limits.get(test) or self.limits["scheduled:"]

    def is_sound(self, mutant):
        """Returns False if the compiler rejects the fault."""
        errors = ["-Werror=int-conversion", "-Werror=incompatible-pointer-types", "-Werror=implicit-function-declaration"]
        sources = [path for path in mutant.files if path.endswith(".c")]
        flags = [flag for flag in STRICT if flag != "-w"]
        return all(run(["gcc", *flags, *errors, "-fsyntax-only", path], self.tree)[0] == 0 for path in sources)

    def is_same(self, mutant):
        """Returns True if an optimising compiler makes the same code with and without the fault. Returns False for a
        public header, because files outside of the core inline its functions, too."""
        if any(path.endswith(".h") and "/internal/" not in path for path in mutant.files):
            return False
        sources = [path for path, _ in self.concerned(mutant.files, {"plain"}) if path in self.core]
        made = []
        for folder in (self.tree, ROOT):
            for path in sources:
                target = os.path.join(self.tree, "objects/same.o")
                must(["gcc", *STRICT, "-O2", "-g0", "-c", path, "-o", target], folder)
                made.append(run(["objdump", "-drs", "--no-show-raw-insn", target], self.tree)[1])
        return sources != [] and made[:len(sources)] == made[len(sources):]

    @contextlib.contextmanager
    def kept(self, mutant, concerned):
        """Restores, at the end of the `with` block, the sources and the objects without the fault."""
        made = [os.path.join(self.tree, self.object(*item)) for item in concerned]
        for path in made:
            os.replace(path, path + ".kept")
        try:
            yield
        finally:
            for path in mutant.files:
                shutil.copyfile(os.path.join(ROOT, path), os.path.join(self.tree, path))
            for path in made:
                os.replace(path + ".kept", path)

    def judge(self, mutant):
        kinds = {"scheduled" if test.startswith("scheduled:") else "plain" for test in mutant.tests}
        concerned = self.concerned(mutant.files, kinds)
        with self.kept(mutant, concerned):
            try:
                mutant.put(self.tree, self.tree)
            except BadFault as why:
                return "FAIL", str(why)
            error = self.compile(concerned)
            if error:
                return "FAIL", error
            answers = []
            for test in mutant.tests:
                try:
                    answers.append((test, self.says(test, mutant.limit or self.limits[test])))
                except BadFault as why:
                    return "FAIL", str(why)
                if (answers[-1][1] is None) == mutant.by_each:
                    break
            return verdict(mutant, answers)


class Cores:
    """A tree for each processor: faults are judged side by side, each in its own tree."""

    def __init__(self, tests=None):
        """Makes the trees, and measures the limits of `tests`; of all tests by default."""
        first = Core(os.path.join(WORK, "core"))
        error = first.compile_all()
        if error:
            sys.exit("mutants: the core does not compile\n" + error)
        for test in first.test_names() + ["scheduled:"] if tests is None else tests:
            first.learn_limit(test)
        self.first, self.count = first, os.cpu_count()
        self.free = queue.SimpleQueue()
        self.free.put(first)
        for number in range(1, self.count):
            self.free.put(first.twin(f"{first.tree}-{number}"))

    @contextlib.contextmanager
    def one(self):
        core = self.free.get()
        try:
            yield core
        finally:
            self.free.put(core)


def judge_core(mutants, report):
    started = time.monotonic()
    cores = Cores(sorted({test for mutant in mutants for test in mutant.tests}))
    print(f"the core and its tests are ready after {time.monotonic() - started:.0f} s", flush=True)

    def timed(mutant):
        with cores.one() as core:
            began = time.monotonic()
            return mutant, *core.judge(mutant), time.monotonic() - began

    with concurrent.futures.ThreadPoolExecutor(cores.count) as pool:
        for future in concurrent.futures.as_completed([pool.submit(timed, mutant) for mutant in mutants]):
            report(*future.result())
