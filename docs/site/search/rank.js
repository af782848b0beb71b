// Which pages a search finds, and in which order: names before headings, these before summaries, these before text.
"use strict";

// A page needs each word of a search: in its name, what it is in, its declaration, or its text.
const weights = { title: 40, within: 6, heading: 16, declaration: 10, abstract: 8, text: 2 };
// Of two pages with the same words, the one that explains or declares more stands first.
const kinds = {
  Module: 12, Class: 12, Structure: 10, Protocol: 10, Enumeration: 10, Article: 8, Function: 6, "Instance Method": 6,
  "Type Method": 6, Initializer: 4, Operator: -8, "API Collection": -8,
};

function wordsOf(text) {
  return text.toLowerCase().match(/[\p{L}\p{N}_]+/gu) || [];
}

// 1 for the word itself, less if a longer word begins with it or has it inside (wake in wakeUp, waiting in
// beforeWaiting).
function closeness(text, word) {
  let best = 0;
  for (let at = text.indexOf(word); at >= 0 && best < 1; at = text.indexOf(word, at + 1)) {
    const begins = at === 0 || !/[\p{L}\p{N}_]/u.test(text[at - 1]);
    const end = at + word.length;
    const ends = end === text.length || !/[\p{L}\p{N}_]/u.test(text[end]);
    best = Math.max(best, begins ? (ends ? 1 : 0.6) : word.length > 2 ? 0.3 : 0);
  }
  return best;
}

// A page in small letters, made once.
function prepared(page) {
  if (!page.lower) {
    const name = page.title.replace(/\(.*$/s, "").toLowerCase();
    page.lower = {
      name, last: name.split(".").pop(), title: page.title.toLowerCase(), within: page.within.join(" ").toLowerCase(),
      declaration: page.declaration.toLowerCase(), abstract: page.abstract.toLowerCase(),
      sections: page.sections.map(([heading, , text]) => (
        { heading: heading.toLowerCase(), text: text.toLowerCase() })),
    };
  }
  return page.lower;
}

// How well a page fits; 0 if it has fewer than `least` of the words. `section` is where the words stand, if not in the
// name.
function rate(page, words, whole, least) {
  const lower = prepared(page);
  const inSections = lower.sections.map(() => 0);
  let rating = 0, found = 0, inName = 0;
  for (const word of words) {
    const title = closeness(lower.title, word) * weights.title;
    let best = Math.max(title, closeness(lower.within, word) * weights.within,
      closeness(lower.declaration, word) * weights.declaration, closeness(lower.abstract, word) * weights.abstract);
    lower.sections.forEach((section, index) => {
      const here = Math.max(closeness(section.heading, word) * weights.heading,
        closeness(section.text, word) * weights.text);
      inSections[index] += here;
      best = Math.max(best, here);
    });
    if (title > 0) inName += 1;
    if (best > 0) found += 1;
    rating += best;
  }
  if (found < least) return { rating: 0 };
  const full = [...page.within.slice(-1), lower.name].join(".").toLowerCase();
  if ([lower.name, lower.last, lower.title, full].includes(whole)) rating += 60;
  else if (inName === words.length) rating += 20;
  rating += Math.min(kinds[page.kind] || 0, rating);
  // Decision records say why something is so, which few readers ask first.
  if (page.within.includes("Decision records")) rating /= 2;
  const most = Math.max(0, ...inSections);
  return { rating, section: inName === words.length || most === 0 ? -1 : inSections.indexOf(most) };
}

// Finds the pages that have all words of a query. If none has, finds those that have some, and `all` is false.
function find(pages, query) {
  const words = [...new Set(wordsOf(query))];
  const whole = query.trim().toLowerCase().replace(/\(.*$/s, "");
  const search = least => pages.map(page => ({ page, ...rate(page, words, whole, least) }))
    .filter(({ rating }) => rating > 0)
    .sort((one, other) => other.rating - one.rating || one.page.path.length - other.page.path.length);
  if (words.length === 0) return { words, all: true, found: [] };
  const found = search(words.length);
  return found.length > 0 ? { words, all: true, found } : { words, all: false, found: search(1) };
}

// The part of a text around the first of the words; the text's beginning if it has none.
function snippet(text, words, length = 180) {
  const lower = text.toLowerCase();
  const places = words.map(word => lower.indexOf(word)).filter(place => place >= 0);
  const first = places.length > 0 ? Math.min(...places) : 0;
  let start = Math.max(0, first - length / 3);
  if (start > 0) start = Math.max(0, text.indexOf(" ", start) + 1);
  let end = Math.min(text.length, start + length);
  if (end < text.length) end = Math.max(text.lastIndexOf(" ", end), start);
  const part = text.slice(start, end).replace(/\s+/g, " ");
  return (start > 0 ? "… " : "") + part + (end < text.length ? " …" : "");
}

if (typeof module !== "undefined") module.exports = { find, snippet, wordsOf };
