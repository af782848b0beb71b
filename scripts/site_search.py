"""Makes the search of the reference: an index of all pages, and the page that searches it. For scripts/docs.

The index, search/index.json, is a list of pages with their words: the browser loads it once and looks through it, so
that the site stays a folder of files that any server can serve. docs/site/search has the page (index.html, page.js,
page.css), the order of what is found (rank.js), and the head that each page of the reference gets (head.html).
"""

import json
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SOURCE = ROOT / "docs" / "site" / "search"
# The headings that docc gives to the parts of each page. The index leaves them out, because every page has them.
PARTS = {"Overview", "Discussion", "Return Value", "Parameters"}
# Searches, each with the page that comes first: a type, by its name and its full name; members; parts of a name; a
# function of C; articles by title and by heading; a word that stands in a text only.
KNOWN = {
    "observer": "documentation/runloopkit/runloop/observer",
    "RunLoop.Timer": "documentation/runloopkit/runloop/timer",
    "stop": "documentation/runloopkit/runloop/stop()",
    "wakeup": "documentation/runloopkit/runloop/wakeup()",
    "collects statistics": "documentation/runloopkit/runloop/collectsstatistics",
    "rlc_loop_create": "documentation/crunloop/rlc_loop_create",
    "getting started": "documentation/runloopkit/getting-started",
    "glossary": "documentation/runloopkit/glossary",
    "find a lost wake": "documentation/runloopkit/contributing",
    "userfaultfd": "documentation/runloopkit/descriptors",
}


# ---- the words of a page ----


def words(content, references):
    """Returns the text of a part of a page; blocks are separated by a line."""
    if isinstance(content, list):
        return "".join(words(part, references) for part in content)
    if "identifier" in content and content["type"] == "reference":
        return content.get("overridingTitle") or references.get(content["identifier"], {}).get("title", "")
    if content["type"] == "text":
        return content["text"]
    if content["type"] == "codeVoice":
        return content["code"]
    if content["type"] == "codeListing":
        return "\n".join(content["code"]) + "\n"
    if content["type"] == "heading":
        return content["text"] + "\n"
    if content["type"] == "link":
        return content["title"]
    if content["type"] == "table":
        return "".join(" | ".join(words(cell, references).strip() for cell in row) + "\n" for row in content["rows"])
    if content["type"] in ("orderedList", "unorderedList"):
        numbered = content["type"] == "orderedList"
        return "".join((f"{number}. " if numbered else "") + words(item["content"], references)
                       for number, item in enumerate(content["items"], content.get("start", 1)))
    end = "\n" if content["type"] in ("paragraph", "aside") else ""
    return words(content.get("inlineContent", content.get("content", [])), references) + end


def sections(page):
    """Returns the parts of a page between its headings, each as heading, anchor, text. The first has no heading."""
    references = page.get("references", {})
    parts = [["", "", ""]]
    for section in page.get("primaryContentSections", []):
        if section["kind"] == "parameters":
            for parameter in section["parameters"]:
                parts[-1][2] += f"{parameter['name']}: {words(parameter['content'], references)}"
        for content in section.get("content", []):
            if content["type"] != "heading":
                parts[-1][2] += words(content, references)
            elif content["text"] not in PARTS:
                parts.append([content["text"], content["anchor"], ""])
    return [[heading, anchor, text.strip()] for heading, anchor, text in parts if heading or text.strip()]


def declarations(page):
    return "\n".join("".join(token["text"] for token in declaration["tokens"])
                     for section in page.get("primaryContentSections", []) if section["kind"] == "declarations"
                     for declaration in section["declarations"])


def entry(path, page):
    """Returns a page's part of the index. `within` names the pages above it, the module first."""
    references = page.get("references", {})
    above = page.get("hierarchy", {}).get("paths") or [[]]
    within = [references[name]["title"] for name in above[0] if name in references]
    return {
        "path": path,
        "title": page["metadata"]["title"],
        "kind": page["metadata"].get("roleHeading") or "Article",
        "within": within,
        "declaration": declarations(page),
        "abstract": words(page.get("abstract", []), references),
        "sections": sections(page),
    }


# ---- the search's files ----


def index(site):
    """Returns the index of a site that docc has made."""
    data = site / "data"
    return [entry(str(path.relative_to(data))[:-len(".json")], json.loads(path.read_text(encoding="utf-8")))
            for path in sorted(data.rglob("*.json"))]


def add_head(site):
    """Gives each page of the reference the head with the field for a search. docc's renderer shows an element of this
    name above its own bar; the page knows the site's base path as baseUrl."""
    head = "".join(line.strip() + "\n" for line in (SOURCE / "head.html").read_text(encoding="utf-8").splitlines())
    for path in (site / "documentation").rglob("index.html"):
        text = path.read_text(encoding="utf-8")
        body = re.search(r"<body[^>]*>", text)
        if not body:
            sys.exit(f"FAIL {path.relative_to(site)} has no body to add the search to")
        path.write_text(text[:body.end()] + head + text[body.end():], encoding="utf-8")


def add(site):
    """Adds the search to a site, and checks it."""
    folder = site / "search"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name in ("index.html", "page.css", "page.js", "rank.js"):
        shutil.copy(SOURCE / name, folder / name)
    pages = json.dumps(index(site), ensure_ascii=False, separators=(",", ":"))
    (folder / "index.json").write_text(pages, encoding="utf-8")
    add_head(site)
    check(site)


# ---- checks ----


def check(site):
    """Fails if the index misses a page or has one that is none, or if words of KNOWN are not at their page."""
    listed = json.loads((site / "search" / "index.json").read_text(encoding="utf-8"))
    entries = {found["path"]: found for found in listed}
    pages = {str(path.parent.relative_to(site)) for path in (site / "documentation").rglob("index.html")}
    if entries.keys() != pages or len(listed) != len(pages):
        names = sorted(entries.keys() ^ pages)[:10]
        sys.exit(f"FAIL the search has {len(listed)} pages, the site {len(pages)}: {' '.join(names) or 'one twice'}")
    for query, path in KNOWN.items():
        text = json.dumps(entries.get(path, ""), ensure_ascii=False).lower()
        missing = [word for word in re.findall(r"\w+", query.lower()) if word not in text]
        if missing:
            sys.exit(f"FAIL the index of the search has no {' '.join(missing)} at {path}")
    check_order(site)


def check_order(site):
    """Fails if a search of KNOWN finds another page first. In the site the browser runs rank.js, here node does."""
    if not shutil.which("node"):
        print("skipped 1: the order of what the search finds: no node here")
        return
    program = """
        const { find } = require(process.argv[1]);
        const pages = JSON.parse(require("fs").readFileSync(process.argv[2], "utf8"));
        const first = query => (find(pages, query).found[0] || { page: { path: "" } }).page.path;
        console.log(JSON.stringify(JSON.parse(process.argv[3]).map(first)));"""
    files = [str(site / "search" / name) for name in ("rank.js", "index.json")]
    said = subprocess.run(["node", "-e", program, *files, json.dumps(list(KNOWN))],
                          text=True, check=False, capture_output=True)
    if said.returncode != 0:
        sys.exit(f"FAIL the search: {said.stderr}")
    for (query, path), first in zip(KNOWN.items(), json.loads(said.stdout)):
        if first != path:
            sys.exit(f"FAIL a search for {query!r} finds {first or 'nothing'} first, not {path}")
