"""Reads the declarations, macros and members of the public C headers, each with its comment. For scripts/tidy and scripts/manual."""

import re


class Declaration:
    """A declaration of file scope: its comment as written ("" without one), its text in one line, and its source with comments."""

    def __init__(self, path, line, comment, source):
        self.path, self.line, self.comment, self.source = path, line, comment, source
        self.text = " ".join(re.sub(r"/\*.*?\*/", " ", source, flags=re.S).split())

    def function(self):
        if re.match(r"(RL[CK]_API )?extern\b", self.text):
            return None
        return re.match(r"(?P<export>RL[CK]_API |static inline (?:RLC_[A-Z_]+ )?)?(?P<result>[\w *]*?)\s*\b(?P<name>\w+)\((?P<parameters>.*?)\)(;| \{)", self.text)

    def callout(self):
        return re.match(r"typedef (?P<result>[\w *]*?)\s*\(\*(?P<name>\w+)\)\((?P<parameters>.*)\);", self.text)


class Macro:
    def __init__(self, line, comment, name, parameters, value):
        self.line, self.comment, self.name, self.parameters, self.value = line, comment, name, parameters, value


def blank(match):
    """Returns only the line breaks of the match, so that later lines keep their numbers."""
    return "\n" * match.group().count("\n")


def declarations(path, text):
    """Yields the declarations of file scope, each with the comment that ends in the line above."""
    text = re.sub(r'extern "C" \{', "", re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", blank, text, flags=re.M))
    text = re.sub(r"^RL[CK]_(BEGIN|END)_DECLS$", "", text, flags=re.M)
    position, comment, commented = 0, "", 0
    for token in re.finditer(r"/\*.*?\*/|\S", text, re.S):
        if token.start() < position:
            continue
        if token.group().startswith("/*"):
            comment, commented = token.group(), token.end()
            continue
        end = end_of_declaration(text, token.start())
        line = text[:token.start()].count("\n") + 1
        is_its_own = comment.startswith("/**") and text[commented:token.start()] == "\n"
        yield Declaration(path, line, comment if is_its_own else "", text[token.start():end])
        position, comment = end, ""


def end_of_declaration(text, start):
    """Returns the position behind the semicolon of the declaration, or behind the body of an inline function."""
    depth = 0
    for token in re.compile(r"/\*.*?\*/|[{};]", re.S).finditer(text, start):
        if token.group() == "{":
            depth += 1
        elif token.group() == "}":
            depth -= 1
            if depth == 0 and text[start:].startswith("static inline"):
                return token.end()
        elif token.group() == ";" and depth == 0:
            return token.end()
    return len(text)


def macros(text):
    """Yields the project's macros, each with its comment. Successive definitions share the comment above the first."""
    pattern = r"(?P<comment>/\*\*(?:(?!\*/).)*\*/\n)?#define (?P<name>RL[CK]_\w+)(?P<parameters>\([^)]*\))?(?P<value>(?:[^\n]*\\\n)*[^\n]*)"
    comment, end = "", 0
    for match in re.finditer(pattern, text, re.S):
        if match.group("comment") or match.start() != end + 1:
            comment = (match.group("comment") or "").strip()
        end = match.end()
        line = text[:match.start("name")].count("\n") + 1
        yield Macro(line, comment, match.group("name"), match.group("parameters"), match.group("value").strip())


def members(source):
    """Returns (text, comment) for each member of an enum or a struct; the comment is behind the member or, if it is longer, above it."""
    body = source[source.index("{") + 1:source.rindex("}")]
    separator = "," if re.match(r"(typedef )?enum\b", source) else ";"
    found, above, depth = [], "", 0
    text = ""
    for token in re.finditer(r"/\*.*?\*/|.", body, re.S):
        piece = token.group()
        if piece.startswith("/**<"):
            if text.strip():
                found.append([text, piece])
                text = ""
            elif found:
                found[-1][1] = piece
        elif piece.startswith("/*"):
            above = piece
        elif piece == separator and depth == 0:
            found.append([text, above])
            text, above = "", ""
        else:
            depth += {"(": 1, "{": 1, ")": -1, "}": -1}.get(piece, 0)
            text += piece
    if text.strip():
        found.append([text, above])
    return [(" ".join(text.split()), comment) for text, comment in found if text.strip()]


def lines(comment):
    """Returns the lines without the stars; keeps the indentation behind them."""
    return [re.sub(r"^ *\* ?", "", line).rstrip() for line in re.sub(r"^/\*\*<? ?|\*/$", "", comment).splitlines()]


def words(comment):
    return " ".join(re.sub(r"^ *\*/?", "", line) for line in comment[3:-2].splitlines())
