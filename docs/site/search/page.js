// The page of the search: reads the field, shows what find() finds, and moves through it by keys.
"use strict";

const field = document.getElementById("query");
const results = document.getElementById("results");
const status = document.getElementById("status");
const more = document.getElementById("more");
const hint = status.textContent;
const page = 25;
let pages = null;
let shown = page;

// The reader may have chosen light or dark on a page of the reference.
try {
  const scheme = localStorage.getItem("developer.setting.preferredColorScheme");
  if (["light", "dark"].includes(scheme)) document.documentElement.style.colorScheme = scheme;
} catch { /* without storage the system decides */ }

function element(name, className, ...children) {
  const made = document.createElement(name);
  if (className) made.className = className;
  made.append(...children);
  return made;
}

// Splits a text at the words that were searched, which it marks.
function marked(text, words) {
  const escaped = words.map(word => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  const parts = text.split(new RegExp(`(${escaped.join("|")})`, "giu")).filter(part => part);
  return parts.map(part => (words.includes(part.toLowerCase()) ? element("mark", "", part) : part));
}

function address(found, anchor) {
  const path = encodeURI(found.path).replace(/#/g, "%23").replace(/\?/g, "%3F");
  return `../${path}/${anchor ? `#${encodeURIComponent(anchor)}` : ""}`;
}

function result({ page: found, section }, words) {
  const [heading, anchor, text] = section >= 0 ? found.sections[section] : ["", "", ""];
  const link = element("a", "", ...marked(heading ? `${found.title}: ${heading}` : found.title, words));
  link.href = address(found, anchor);
  const place = [found.kind, ...(found.within.length > 0 ? [found.within.join(" / ")] : [])].join(" in ");
  const item = element("li", "", link, element("p", "place", place));
  if (found.declaration) item.append(element("code", "", ...marked(snippet(found.declaration, [], 240), words)));
  // The summary, unless the words stand in the text alone.
  const isInSummary = words.some(word => found.abstract.toLowerCase().includes(word));
  const says = section >= 0 && !isInSummary ? text : found.abstract || text;
  if (says) item.append(element("p", "", ...marked(snippet(says, words), words)));
  return item;
}

function show() {
  const query = field.value;
  const { words, all, found } = find(pages, query);
  results.replaceChildren(...found.slice(0, shown).map(each => result(each, words)));
  more.hidden = found.length <= shown;
  const count = found.length === 1 ? "1 page" : `${found.length} pages`;
  status.textContent = words.length === 0 ? hint
    : found.length === 0 ? `No page has “${query}”.`
    : all ? count : `No page has all of these words. ${count} with some of them:`;
}

function changed() {
  shown = page;
  history.replaceState(null, "", field.value ? `?q=${encodeURIComponent(field.value)}` : location.pathname);
  if (pages) show();
}

// Moves the focus by one result; up from the first leads to the field.
function move(step) {
  const links = [field, ...results.querySelectorAll("a")];
  const next = links[Math.max(0, links.indexOf(document.activeElement)) + step];
  if (next) next.focus();
}

document.addEventListener("keydown", event => {
  if (event.ctrlKey || event.altKey || event.metaKey) return;
  if (event.key === "ArrowDown" || event.key === "ArrowUp") move(event.key === "ArrowDown" ? 1 : -1);
  else if (event.key === "/" && document.activeElement !== field) field.select();
  else return;
  event.preventDefault();
});
field.addEventListener("input", changed);
field.form.addEventListener("submit", event => {
  event.preventDefault();
  const first = results.querySelector("a");
  if (first) first.click();
});
more.addEventListener("click", () => {
  shown += page;
  show();
});

field.value = new URLSearchParams(location.search).get("q") || "";
status.textContent = "Loading the index …";
fetch("index.json").then(answer => {
  if (!answer.ok) throw new Error(`${answer.status} ${answer.statusText}`);
  return answer.json();
}).then(list => {
  pages = list;
  show();
}).catch(error => {
  status.textContent = `The index cannot be loaded: ${error.message}`;
});
