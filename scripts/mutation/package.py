"""Judges faults in the package: compiles the files that a fault changes by the commands of SwiftPM's plan, and links them with the rest."""

import concurrent.futures
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import threading
import time

from faults import BadFault
from processes import WORK, copy_tree, must, run, run_until
from verdict import verdict

# Without a fault a test must end within three times SWIFT_LIMIT. With a fault this program ends the test after LEAST
# seconds, or after TIMES its usual time if that is longer, but never later than after three times SWIFT_LIMIT. --draw
# and --judge do not time the tests: they end each one after SWIFT_LIMIT.
SWIFT_LIMIT = 60
LEAST, TIMES = 20, 10
# This many more tests than processors run side by side, because many faults make a test wait for an event that never comes.
WAITING = 6
# lld takes half of the time of the default linker.
LINKER = ["-use-ld=lld", "-Xlinker", "--threads=1"]
# The programs that the tests start.
STARTED = ["runloop", "port-peer", "hostile-peers", "failing-calls", "error-texts", "main-executor", "main-ends"]
FAILURE = r"^FAIL .*|.*error: .*|.*Fatal error: .*"
SKIP = r".*: Test skipped.*"
# Messages of Swift Testing. The first means that the expression matches no test.
ISSUE = r".*Test run with 0 tests.*|.* recorded an issue .*"


class Module:
    """The sources as one of the builds compiles and links them, with a changed file in place of the original."""

    def __init__(self, tree, *modules):
        """Notes for each module the command that compiles it."""
        self.tree, self.jobs = tree, {}
        for compiling in modules:
            jobs = must(["swiftc", *compiling, "-driver-print-jobs", "-driver-filelist-threshold=100000"], tree)
            for job in map(shlex.split, jobs.splitlines()):
                if "-primary-file" in job:
                    source = self.name(job[job.index("-primary-file") + 1])
                    self.jobs[source] = job, "-primary-file", self.object_of(source)

    def name(self, path):
        return os.path.relpath(os.path.join(self.tree, path), self.tree)

    def note_c(self, job):
        """Notes a command that compiles C of this project; ignores others."""
        if "-c" in job and "-o" in job:
            source = self.name(job[job.index("-c") + 1])
            if source.startswith(("Sources/CRunLoopCore/", "Sources/CRunLoop/", "Sources/CRunLoopTesting/", "Tests/CModel/")):
                self.jobs[source] = job, "-c", job[job.index("-o") + 1]

    def object_of(self, source):
        """Returns the object of a Swift file, as the link names it."""
        raise NotImplementedError

    def compile(self, mutant, folder):
        """Returns (the error, what to link in place of which object). `folder` holds the changed files."""
        objects = {}
        changed = [path for path in mutant.files if not path.endswith(".h")]
        for header in set(mutant.files) - set(changed):
            users = self.users_of(header)
            if not users:
                return f"no file of these modules includes {header}", {}
            changed += users
            self.show_headers(folder)
        for path in dict.fromkeys(changed):
            if path not in self.jobs:
                return f"{path} is no file of these modules", {}
            job, before, replaced = self.jobs[path]
            job, made = list(job), os.path.join(folder, type(self).__name__ + os.path.basename(path) + ".o")
            if path in mutant.files:
                job[job.index(before) + 1] = os.path.join(folder, path)
            if changed != mutant.files:
                job[1:1] = [f"-I{folder}/{inner}" for inner in self.HEADERS]
            for option in ("-o", "-index-unit-output-path"):
                if option in job:
                    job[job.index(option) + 1] = made
            status, output = run(without(without(job, "-MF"), "-index-store-path"), self.tree)
            if status != 0:
                return "\n".join(re.findall(r"error: .*", output)[:3]) or output[-300:], {}
            objects[replaced] = made
        return None, objects

    HEADERS = ["Sources/CRunLoop/include", "include", "Sources/CRunLoopCore/internal", "Sources/CRunLoop/internal"]

    def users_of(self, header):
        """Returns the C files that include the header."""
        users = []
        for path, (_, before, replaced) in self.jobs.items():
            needs = os.path.join(self.tree, replaced[:-2] + ".d")
            if before == "-c" and os.path.exists(needs):
                with open(needs, encoding="utf-8") as file:
                    if os.path.join(self.tree, header) in file.read():
                        users.append(path)
        return users

    def show_headers(self, folder):
        """Puts the unchanged headers beside the changed ones."""
        for inner in self.HEADERS:
            for part, _, names in os.walk(os.path.join(self.tree, inner)):
                for name in names:
                    copy = os.path.join(folder, os.path.relpath(os.path.join(part, name), self.tree))
                    if not os.path.exists(copy):
                        os.makedirs(os.path.dirname(copy), exist_ok=True)
                        shutil.copyfile(os.path.join(part, name), copy)

    def is_same(self, mutant, folder):
        """Returns True if the code that `compile` made in the folder equals that of the sources."""
        for path in mutant.files:
            if path not in self.jobs:
                return False
            made = os.path.join(folder, type(self).__name__ + os.path.basename(path) + ".o")
            if code_of(made) != code_of(os.path.join(self.tree, self.jobs[path][2])):
                return False
        return True

    def link(self, linking, objects, program):
        """Returns None, or the error if there is no program."""
        missing = set(objects) - set(linking)
        if missing:
            return f"the link does not name {', '.join(missing)}"
        linking = [objects.get(argument, argument) for argument in linking]
        self.own_first_object(linking, os.path.dirname(program))
        status, output = run(["swiftc", *linking, *LINKER, "-o", program], self.tree)
        return None if status == 0 else output[-300:]

    def own_first_object(self, linking, folder):
        """Replaces the first object by a symbolic link in the folder: the compiler writes the objects' link options beside it, and
        links that run side by side must not share that file."""
        index = next(index for index, argument in enumerate(linking) if argument.endswith(".o"))
        own = os.path.join(folder, "first", os.path.basename(linking[index]))
        os.makedirs(os.path.dirname(own), exist_ok=True)
        if not os.path.lexists(own):
            os.symlink(os.path.join(self.tree, linking[index]), own)
        linking[index] = own


def code_of(path):
    """Returns an object's code, without line numbers."""
    sections = ["-j", ".rodata", "-j", ".data", "-j", ".data.rel.ro"]
    code = run(["objdump", "-dr", "--no-show-raw-insn", path], ".")[1] + run(["objdump", "-s", *sections, path], ".")[1]
    return code.replace(path, "")


class Product(Module):
    """The build of `swift build --build-tests`."""

    MODULES = [
        "RunLoopKit", "RunLoopEvents", "RunLoopPorts", "RunLoopMainExecutor", "RunLoopKitC", "RunLoopTesting", "runloop"]

    def __init__(self, tree, environment, product):
        must(["swift", "build", "--build-tests"], tree, env=environment)
        self.folder = os.path.realpath(os.path.join(tree, ".build/debug"))
        with open(os.path.join(tree, ".build/debug.yaml"), encoding="utf-8") as file:
            self.plan = file.read()
        super().__init__(tree, *map(self.compiling, self.MODULES))
        for line in self.plan.splitlines():
            if line.startswith("    args: ") and "/clang" in line:
                self.note_c(json.loads(line[len("    args: "):]))
        self.program = os.path.join(self.folder, product)

    def build(self, mutant, folder):
        """Returns (the error, the program). The programs that it starts lie beside it; those in the fault's `programs`
        contain the fault."""
        error, objects = self.compile(mutant, folder)
        bin_folder = os.path.join(folder, "bin")
        os.makedirs(bin_folder, exist_ok=True)
        for name in [os.path.basename(self.program), *mutant.programs]:
            error = error or self.link(self.linking(name), objects, os.path.join(bin_folder, name))
        for name in os.listdir(self.folder):
            if not os.path.exists(os.path.join(bin_folder, name)):
                os.symlink(os.path.join(self.folder, name), os.path.join(bin_folder, name))
        return error, os.path.join(bin_folder, os.path.basename(self.program))

    def programs_of(self, files):
        """Returns the programs that the tests start and that contain the files."""
        objects = {self.jobs[path][2] for path in files if path in self.jobs}
        return [name for name in STARTED if objects and objects <= set(self.linking(name))]

    def linking(self, product):
        arguments = self.arguments(f'"-o","{self.folder}/{product}"')
        lists = [argument[1:] for argument in arguments if argument.startswith("@")]
        with open(lists[0], encoding="utf-8") as file:
            objects = shlex.split(file.read())
        return without([argument for argument in arguments if argument[0] != "@"] + objects, "-o")

    def compiling(self, module):
        arguments = self.arguments(f'"-module-name","{module}","-emit-dependencies"')
        for option in ("-emit-module-path", "-output-file-map", "-index-store-path", "-emit-objc-header-path"):
            arguments = without(arguments, option)
        needless = ("-emit-dependencies", "-emit-module", "-incremental", "-enable-batch-mode", "-parseable-output",
                    "-emit-objc-header", "-serialize-diagnostics")
        return [argument for argument in arguments if argument not in needless]

    def arguments(self, mark):
        """Returns the arguments of the command in SwiftPM's plan that has the mark."""
        found = [line for line in self.plan.splitlines() if line.startswith("    args: ") and mark in line]
        if len(found) != 1:
            sys.exit(f"mutants: {len(found)} commands with {mark} in .build/debug.yaml")
        return json.loads(found[0][len("    args: "):])[1:]

    def object_of(self, source):
        return os.path.join(self.folder, source.split("/")[1] + ".build", os.path.basename(source) + ".o")


class Tests(Product):
    def __init__(self, tree, environment):
        super().__init__(tree, environment, "RunLoopKitPackageTests.xctest")
        self.names = must([self.program, "--list-tests"], tree, env=environment).split("\n")

    def says(self, test, program, limit, environment):
        if test.startswith("testing:"):
            command = [program, "--testing-library", "swift-testing", "--filter", test.removeprefix("testing:")]
            return run_until(command, self.tree, limit, environment, f"{FAILURE}|{ISSUE}")
        names = [name for name in self.names if re.search(test, name)]
        if not names:
            sys.exit(f"mutants: there is no test {test}")
        # One test of many may be skipped where it cannot run; the only test of a fault may not.
        mark = FAILURE if len(names) > 1 else f"{FAILURE}|{SKIP}"
        return run_until([program, ",".join(names)], self.tree, limit, environment, mark)


class Tool(Product):
    """The tool that runs the scenarios, and must print their traces."""

    CORPUS = "Tests/ConformanceTests/Corpus"

    def __init__(self, tree, environment):
        super().__init__(tree, environment, "runloop")

    def says(self, test, program, limit, environment):
        name = test.split(":")[1]
        scenario = os.path.join(self.CORPUS, f"{name}.rl")
        with open(os.path.join(self.tree, scenario), encoding="utf-8") as file:
            wanted = re.split("^--- .*\n", file.read(), flags=re.M)[-1]
        command = [program, "scenario", "--virtual", scenario]
        status, output = run(command, self.tree, limit, environment, subprocess.DEVNULL)
        if status == 0 and output == wanted:
            return 0, None
        told = zip(output.split("\n") + [""], wanted.split("\n") + [""])
        return status, next((f"{line!r} for {right!r}" for line, right in told if line != right), None)


class Scheduled(Module):
    """The build of `make scheduled-kit-test`."""

    PROGRAM = "build/core-test/scheduled-kit/kit_scheduled"

    def __init__(self, tree, environment):
        commands = must(["make", "--no-print-directory", "-n", "-B", self.PROGRAM], tree, env=environment).split("\n")
        compiling, linking = (shlex.split(line)[1:] for line in commands if line.startswith("swiftc "))
        must(["make", self.PROGRAM], tree, env=environment)
        compiling = without(without(compiling, "-output-file-map"), "-j")
        needless = ("-incremental", "-enable-batch-mode")
        super().__init__(tree, [argument for argument in compiling if argument not in needless])
        for line in commands:
            if line.startswith("gcc "):
                self.note_c(shlex.split(line))
        self.linking = without(linking, "-o")
        self.program = os.path.join(tree, self.PROGRAM)

    def build(self, mutant, folder):
        error, objects = self.compile(mutant, folder)
        program = os.path.join(folder, "scheduled")
        return error or self.link(self.linking, objects, program), program

    def object_of(self, source):
        return f"{os.path.dirname(self.PROGRAM)}/objects/{source.replace('+', '_').replace('/', '_')}.o"

    def says(self, test, program, limit, environment):
        names = test.split(":")[1:]
        if "without_barrier" in names:
            environment = dict(environment, SCHEDULED_WITHOUT_BARRIER="1")
        return run_until([program, names[-1]], self.tree, limit, environment, FAILURE)


def without(arguments, option):
    """Returns the arguments without the option and its value."""
    rest, kept = iter(arguments), []
    for argument in rest:
        if argument == option:
            next(rest)
        else:
            kept.append(argument)
    return kept


def build_of(test):
    """Returns the build that has the test."""
    return {"scheduled": Scheduled, "scenario": Tool}.get(test.split(":")[0], Tests)


class Kit:
    """A copy of the package, built once without a fault. It never changes, so that faults can be judged side by side."""

    def __init__(self, tests):
        self.tree = os.path.join(WORK, "swift")
        copy_tree(self.tree, ["."])
        self.environment = dict(os.environ, SWIFT_BACKTRACE="enable=no", RLK_NO_BENCHMARKS="1", RLK_TRAITS="MainExecutor",
                                RUNLOOPKIT_DIAGNOSTICS="0")
        self.modules, self.limits, self.lock = {}, {}, threading.Lock()
        self.compilers = threading.Semaphore(os.cpu_count())
        for test in tests:
            self.module_of(test)

    def module_of(self, test):
        """Returns the build that has the test."""
        kind = build_of(test)
        with self.lock:
            if kind not in self.modules:
                self.modules[kind] = kind(self.tree, self.environment)
            return self.modules[kind]

    def catches(self, test, limit, program=None):
        """Returns the test's first failure; None if it passes."""
        module = self.module_of(test)
        status, said = module.says(test, program or module.program, limit, self.environment)
        if said:
            return said[-150:]
        return None if status == 0 else "out of time" if status is None else f"status {status}"

    def learn_limit(self, test):
        """Measures how long the test may take with a fault. Returns None if the test passes without a fault; otherwise
        why it cannot judge: it fails, or is skipped here."""
        began = time.monotonic()
        said = self.catches(test, SWIFT_LIMIT * 3)
        self.limits[test] = min(max(LEAST, TIMES * (time.monotonic() - began)), 3 * SWIFT_LIMIT)
        return said

    def judge(self, mutant):
        folder = os.path.join(WORK, "changed", mutant.name)
        shutil.rmtree(folder, ignore_errors=True)
        try:
            mutant.put(self.tree, folder)
        except BadFault as why:
            return "FAIL", str(why)
        error, programs, answers = None, {}, []
        with self.compilers:
            for build in dict.fromkeys(map(build_of, mutant.tests)):
                if not error:
                    error, programs[build] = self.modules[build].build(mutant, folder)
        if error:
            return "FAIL", error
        for test in mutant.tests:
            said = self.catches(test, mutant.limit or self.limits[test], programs[build_of(test)])
            answers.append((test, said))
            if (said is None) == mutant.by_each:
                break
        shutil.rmtree(folder)
        return verdict(mutant, answers)


def report_skipped(mutant, skipped):
    """Drops the fault's tests that are skipped here. If none is left, reports that, and returns True."""
    here = [test for test in mutant.tests if test not in skipped]
    if not here:
        print(f"skipped 1: {mutant.kind}/{mutant.name}: so are its tests, {' '.join(mutant.tests)}")
    mutant.tests = here
    return not here


def report_failing(mutant, said, report):
    """Reports the fault and returns True if one of its tests fails without a fault. Other faults are judged
    nevertheless."""
    failing = next((test for test in mutant.tests if test in said), None)
    if failing:
        report(mutant, "FAIL", f"{failing} fails without a fault: {said[failing]}", 0)
    return failing is not None


def judge_swift(mutants, report):
    started = time.monotonic()
    tests = sorted({test for mutant in mutants for test in mutant.tests})
    kit = Kit(tests)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        said = {test: words for test, words in zip(tests, pool.map(kit.learn_limit, tests)) if words}
    skipped = {test for test, words in said.items() if re.match(SKIP, words)}
    mutants = [mutant for mutant in mutants if not report_skipped(mutant, skipped) and not report_failing(mutant, said, report)]
    print(f"the module and its tests are ready after {time.monotonic() - started:.0f} s", flush=True)

    def timed(mutant):
        began = time.monotonic()
        return mutant, *kit.judge(mutant), time.monotonic() - began

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() + WAITING) as pool:
        for future in concurrent.futures.as_completed([pool.submit(timed, mutant) for mutant in mutants]):
            report(*future.result())


