"""Commands with limits, and copies of the sources."""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import threading

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
WORK = os.path.join(ROOT, "build/mutants")
# The commands whose sessions run now.
RUNNING = set()


def end_with_this_program():
    """Makes a signal that ends this program kill the commands that it has started: else a test that spins would run for ever."""
    def end_all(number, _):
        for process in list(RUNNING):
            end_session(process)
        os._exit(128 + number)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, end_all)


def end_session(process):
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


@contextlib.contextmanager
def started(command, cwd, env, errors=subprocess.STDOUT):
    """Starts a command in a session of its own. The end of the `with` block kills the session."""
    process = subprocess.Popen(command, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors, start_new_session=True,
                               env=env)
    RUNNING.add(process)
    try:
        yield process
    finally:
        end_session(process)
        process.wait()
        process.stdout.close()
        RUNNING.discard(process)


def run(command, cwd, limit=None, env=None, errors=subprocess.STDOUT):
    """Returns (status, output); the status is None if the time ran out. The children of the command end with it."""
    with started(command, cwd, env, errors) as process:
        try:
            output, _ = process.communicate(timeout=limit)
            return process.returncode, output.decode(errors="replace")
        except subprocess.TimeoutExpired:
            return None, "out of time"


def run_until(command, cwd, limit, env, mark):
    """Runs a command as `run` does, but ends it at the first line that `mark`, an expression or a function, matches: a
    command may wait for long after it has reported a failure. Returns (status, that line); the line is None if none
    matches."""
    matches = mark if callable(mark) else re.compile(mark).match
    is_late = threading.Event()

    def end_late(process):
        is_late.set()
        end_session(process)

    with started(command, cwd, env) as process:
        timer = threading.Timer(limit, end_late, [process])
        timer.start()
        said = None
        try:
            for line in process.stdout:
                found = matches(line.decode(errors="replace").rstrip())
                if found:
                    said = found.group(0)
                    break
            end_status = 1 if said else process.wait()
        finally:
            timer.cancel()
    return None if is_late.is_set() else end_status, said


def run_told(command, cwd, limit, env, mark):
    """Does what `run_until` does, and returns (status, line, running). For each test that has begun and not ended,
    `running` holds the line that reported its beginning."""
    begun = {}

    def note(line):
        found = re.search(r"Test (?:Case '([\w.]+)'|(\w+)\(.*\)).*? (started|passed|failed|skipped)\b", line)
        if found and found.group(3) == "started":
            begun[found.group(1) or found.group(2)] = line
        elif found:
            begun.pop(found.group(1) or found.group(2), None)
        return re.match(mark, line)

    status, said = run_until(command, cwd, limit, env, note)
    return status, said, list(begun.values())


def must(command, cwd, limit=None, env=None, errors=subprocess.STDOUT):
    status, output = run(command, cwd, limit, env, errors)
    if status != 0:
        sys.exit(f"mutants: {' '.join(command)}: {status}\n{output[-4000:]}")
    return output


def copy_tree(target, folders):
    """Copies the files that git knows or would add, and removes other files of an earlier copy; what was built there stays."""
    listing = must(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *folders], ROOT)
    paths = set(filter(None, listing.split("\0")))
    for folder, inner, names in os.walk(target):
        inner[:] = [name for name in inner if name not in (".build", "build")]
        for name in names:
            path = os.path.join(folder, name)
            if os.path.relpath(path, target) not in paths:
                os.remove(path)
    for path in sorted(paths):
        source, copy = os.path.join(ROOT, path), os.path.join(target, path)
        if not os.path.isfile(source):
            continue
        os.makedirs(os.path.dirname(copy), exist_ok=True)
        if not os.path.exists(copy) or open(source, "rb").read() != open(copy, "rb").read():
            shutil.copyfile(source, copy)
