"""Finds the examples in Swift: the fenced blocks of doc comments and of the landing pages of the reference. For scripts/samples.

An example stands alone: a reader copies it into a main.swift. It needs RunLoopKit and the module that it is about, or
imports more by itself. A comment `// prints TEXT` in it is a line of its output. A line `<!-- not run: REASON -->`
above a block says why it cannot run.
"""

import glob
import os
import re

FENCE = re.compile(r"^(?P<lead>\s*/// ?|)```(?P<language>\w*)$")
MARK = re.compile(r"^(?:\s*/// ?|)<!-- not run: (.*) -->$")
MOST_LINES = 12


class Example:
    def __init__(self, path, line, module, number, language, lines, reason):
        self.path, self.line, self.module, self.language, self.reason = path, line, module, language, reason
        stem = os.path.splitext(os.path.basename(path))[0]
        self.name = f"{module}.{stem}.{number}" if path.startswith("Sources/") else f"site.{module}.{number}"
        self.function = re.sub(r"\W", "_", self.name)
        self.place = f"{path}:{line}"
        self.lines = lines
        self.imports = [line for line in lines if line.startswith("import ")]
        self.printed = re.findall(r"// prints (.+)$", "\n".join(lines), re.M)
        # An await in the outermost block: the example is the body of an async function.
        self.is_async = any(re.match(r"(?:\w+ .*= |for )?(?:try )?await ", line) for line in lines)

    @property
    def error(self):
        """Says what is wrong with the form; empty if nothing is."""
        if self.language != "swift":
            return f"a block in {self.language or 'no language'}"
        if len(self.lines) > MOST_LINES:
            return f"{len(self.lines)} lines, more than {MOST_LINES}"
        return ""

    def source(self):
        """Returns a file with the example as a function. The compiler's messages name the place in the comment."""
        imports = dict.fromkeys(["import RunLoopKit", f"import {self.module}", *self.imports])
        body = [line if line not in self.imports else "" for line in self.lines]
        return "\n".join([
            *imports, "", f"func {self.function}() {'async ' if self.is_async else ''}throws {{",
            f'#sourceLocation(file: "{self.path}", line: {self.line})', *body, "#sourceLocation()", "}", ""])

    def case(self):
        call = f"try RunLoop.main.run {{ try await {self.function}() }}" if self.is_async else f"try {self.function}()"
        return f'case "{self.name}": {call}'


def of_file(path, module):
    """Yields the examples of a source, or of a page."""
    with open(path, encoding="utf-8") as file:
        lines = file.read().splitlines()
    number, reason, start, lead = 0, None, None, ""
    for index, line in enumerate(lines, 1):
        fence = FENCE.match(line)
        if start is not None:
            if fence:
                number += 1
                text = [part.removeprefix(lead.rstrip()).removeprefix(" ") if lead else part for part in lines[start:index - 1]]
                yield Example(path, start + 1, module, number, language, text, reason)
                reason, start = None, None
        elif fence and (fence.group("lead") or path.endswith(".md")):
            start, lead, language = index, fence.group("lead"), fence.group("language")
        else:
            mark = MARK.match(line)
            reason = mark.group(1) if mark else None


def examples():
    """Yields the examples of all modules, and of the pages in docs/site. Examples in C are not among them."""
    for path in sorted(glob.glob("Sources/**/*.swift", recursive=True)):
        yield from of_file(path, path.split("/")[1])
    for path in sorted(glob.glob("docs/site/*.docc/*.md")):
        module = path.split("/")[2].removesuffix(".docc")
        yield from (example for example in of_file(path, module) if example.language != "c")
