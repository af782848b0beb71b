"""Converts English text to mdoc(7), for scripts/manual."""

import re
import textwrap

PROMISE = re.compile(r" ?\[RL[CK]-[A-Z0-9-]+(?:, RL[CK]-[A-Z0-9-]+)*\]")
SENTENCE = re.compile(r"(?<=[a-z0-9)\]A-Z`\"][.!?]) +(?=[A-Z`\"(\[0-9]|rl[ck]_|-E)")
PIECE = re.compile(
    r"`(?P<code>[^`]+)`|(?<![\w/.])(?P<page>[a-z_][\w-]*)\((?P<section>[1-8])\)|(?P<error>-E[A-Z0-9]{3,})\b"
    r"|\b(?P<constant>(?:RL[CK]|SIG|O|CLOCK|POLL|SO|SCM|MSG)_[A-Z0-9_]*[A-Z0-9]|NULL|SIG[A-Z]{3,})\b|\b(?P<name>rl[ck]_\w+)(?:\((?P<given>[^()]*)\))?")


def escaped(text):
    return re.sub(r"(?<![\w-])-(?=\w)", r"\\-", text.replace("\\", "\\e"))


def quoted(text, always=False):
    text = text.replace('"', "\\(dq")
    return f'"{text}"' if always or " " in text else text


class Prose:
    """Converts texts: distinguishes functions from types by their names, and collects the pages that texts refer to."""

    def __init__(self, functions):
        self.functions, self.pages = functions, set()

    @staticmethod
    def literal(line):
        line = line.replace("\\", "\\e")
        return f"\\&{line}" if line[:1] in (".", "'") else line or "\\&"

    def macro(self, match):
        if match.group("page"):
            self.pages.add((int(match.group("section")), match.group("page")))
            return f"Xr {match.group('page')} {match.group('section')}"
        if match.group("error"):
            return f"Er \\{match.group('error')}"
        if match.group("constant"):
            return f"Dv {match.group('constant')}"
        if match.group("code"):
            code = match.group("code")
            return f"Va {code}" if re.fullmatch(r"\w+", code) else f"Ql {quoted(escaped(code))}"
        name, given = match.group("name"), match.group("given")
        if name in self.functions:
            return " ".join([f"Fn {name}"] + [quoted(part.strip()) for part in (given or "").split(",") if part.strip()])
        return f"Vt {name}" if given is None else f"Fn {name}"

    def line(self, text):
        """Converts a paragraph: each sentence and each macro begins a line."""
        out = []
        text = PROMISE.sub("", " ".join(text.split()))
        for sentence in SENTENCE.split(text):
            out += self.sentence(sentence)
        return out

    def sentence(self, text):
        out, plain, position = [], "", 0

        def flush():
            nonlocal plain
            if plain.strip():
                for said in textwrap.wrap(escaped(plain.strip()), 79, break_long_words=False, break_on_hyphens=False):
                    out.append(f"\\&{said}" if said[0] in ".'" else said)
            plain = ""

        for match in PIECE.finditer(text):
            if match.start() < position:
                continue
            before = text[position:match.start()]
            opening = re.search(r"(?:^|(?<=\s))[(\[]+$", before)
            glued = before and not before[-1].isspace() and not opening
            behind = re.match(r"\S*", text[match.end():]).group()
            closing = re.match(r"[.,:;)\]?!]*", behind).group()
            if glued or position and not before or re.search(r"[`\w]", behind) and behind != closing and not behind.startswith("'s"):
                plain += before + f"{match.group().strip('`')}"
                position = match.end()
                continue
            plain += before[:opening.start()] if opening else before
            flush()
            line = "." + self.macro(match)
            if opening:
                kind, rest = line[1:].split(" ", 1)
                line = f".{kind} {' '.join(opening.group())} {rest}"
            if behind == closing:
                line += "".join(f" {mark}" for mark in closing)
                position = match.end() + len(closing)
            else:
                line += f" Ns {quoted(escaped(behind))}"
                position = match.end() + len(behind)
            out.append(line)
        plain += text[position:]
        flush()
        return out

    def paragraphs(self, lines):
        """Converts paragraphs, with lists ("- " and definitions below the items) and indented tables."""
        out, block = [], []
        for line in list(lines) + [""]:
            if line:
                block.append(line)
                continue
            if block:
                made = self.block(block)
                if out and not made[0].startswith(".B"):
                    out.append(".Pp")
                out += made
            block = []
        return out

    def block(self, lines):
        out, text = [], []
        rest = list(lines)
        while rest and not re.match(r" +- ", rest[0]) and not rest[0].startswith("     "):
            text.append(rest.pop(0))
        out += self.line(" ".join(text)) if text else []
        if rest and not rest[0].lstrip().startswith("- "):
            width = min(len(line) - len(line.lstrip()) for line in rest)
            return out + [".Bd -literal"] + [self.literal(line[width:]) for line in rest] + [".Ed"]
        return out + (self.bullets(rest) if rest else [])

    def bullets(self, lines):
        out, depth = [".Bl -bullet"], len(lines[0]) - len(lines[0].lstrip()) + 2
        items, tail = [], []
        for line in lines:
            if re.match(rf" {{{depth - 2}}}- ", line):
                items.append([line[depth:]])
            elif not tail and line.startswith(" " * depth):
                items[-1].append(line[depth:])
            else:
                tail.append(line)
        for item in items:
            out += [".It"] + self.item(item)
        return out + [".El"] + ([".Pp"] + self.line(" ".join(tail)) if tail else [])

    def item(self, lines):
        """Returns an item's text and its definitions, which are two spaces deeper, each with its meaning."""
        text = [line for line in lines if not line.startswith("  ")]
        out, defined = self.line(" ".join(text)), []
        for line in lines:
            if re.match(r"  \S", line):
                defined.append(line.strip())
            elif line.startswith("   "):
                defined[-1] += " " + line.strip()
        if not defined:
            return out
        out.append(".Bl -tag -width Ds")
        for one in defined:
            match = re.match(r"(\[[^\]]*\])\s+(.*)|(.*?)(?:  +|: )(.*)", one)
            out += [f".It {quoted(escaped(match.group(1) or match.group(3)), True)}"] + self.line(match.group(2) or match.group(4))
        return out + [".El"]
