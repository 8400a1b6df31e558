// Words of SQL: enough to know where statements begin and end, what they are, and what stands around the cursor. The engine judges them.

const SPACE = /\s+/y;
const WORD = /[\p{L}_][\p{L}\p{N}_$]*/uy;
const NUMBER = /(?:[0-9][0-9_]*\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?/y;
const DOLLAR = /\$(?:[A-Za-z_][A-Za-z0-9_]*)?\$/y;

function match(pattern, text, at) {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0] ?? null;
}

/** The end of a text in quotes that begins at `at`; a doubled quote is part of it. */
function quotedEnd(text, at, hasEscapes) {
  const quote = text[at];
  for (let i = at + 1; i < text.length; i++) {
    if (hasEscapes && text[i] === "\\") i++;
    else if (text[i] === quote) {
      if (text[i + 1] !== quote) return i + 1;
      i++;
    }
  }
  return text.length;
}

function commentEnd(text, at) {
  let depth = 0;
  for (let i = at; i < text.length; i++) {
    if (text.startsWith("/*", i)) { depth++; i++; }
    else if (text.startsWith("*/", i)) { i++; if (--depth === 0) return i + 1; }
  }
  return text.length;
}

/** The token at a place: kind (`space`, `comment`, `string`, `quoted`, `word`, `number`, `mark`) and end. */
function tokenAt(text, at) {
  const c = text[at];
  const space = match(SPACE, text, at);
  if (space) return ["space", at + space.length];
  if (c === "-" && text[at + 1] === "-") {
    const end = text.indexOf("\n", at);
    return ["comment", end < 0 ? text.length : end];
  }
  if (c === "/" && text[at + 1] === "*") return ["comment", commentEnd(text, at)];
  if (c === "'") return ["string", quotedEnd(text, at, false)];
  if (c === '"') return ["quoted", quotedEnd(text, at, false)];
  if ((c === "e" || c === "E") && text[at + 1] === "'") return ["string", quotedEnd(text, at + 1, true)];
  const dollar = c === "$" ? match(DOLLAR, text, at) : null;
  if (dollar) {
    const end = text.indexOf(dollar, at + dollar.length);
    return ["string", end < 0 ? text.length : end + dollar.length];
  }
  const word = match(WORD, text, at);
  if (word) return ["word", at + word.length];
  const number = match(NUMBER, text, at);
  if (number) return ["number", at + number.length];
  return ["mark", at + 1];
}

/** Tokens without spaces and comments. */
export function tokens(text, { withAll = false } = {}) {
  const out = [];
  for (let at = 0; at < text.length;) {
    const [kind, end] = tokenAt(text, at);
    if (withAll || (kind !== "space" && kind !== "comment")) out.push({ kind, from: at, to: end, text: text.slice(at, end) });
    at = end;
  }
  return out;
}

/** Statements with something in them: from, to (without the semicolon), and whether one ended it. */
export function statements(text) {
  const out = [];
  let first = null, last = null;
  for (const token of tokens(text)) {
    if (token.kind === "mark" && token.text === ";") {
      if (first) out.push({ from: first.from, to: last.to, end: token.to });
      first = last = null;
      continue;
    }
    first ??= token;
    last = token;
  }
  if (first) out.push({ from: first.from, to: last.to, end: text.length });
  return out.map((range) => ({ ...range, sql: text.slice(range.from, range.to) }));
}

/** The statement in which the cursor is, or the one before it. */
export function statementAt(text, cursor) {
  const all = statements(text);
  return all.find((one) => cursor <= one.end) ?? all.at(-1) ?? null;
}

const QUERIES = new Set(["select", "from", "with", "values", "table", "pivot", "unpivot", "describe", "desc", "show", "summarize"]);
// Where one of these stands, running the statement a second time may change something, or give something else.
const CHANGES = new Set(["insert", "update", "delete", "merge", "nextval", "setval", "create", "drop", "alter", "truncate", "into"]);

/** Whether a statement only reads, so that it may stand in brackets and be run again. */
export function isQuery(sql) {
  const words = tokens(sql).filter((token) => token.text !== "(");
  return words.length > 0 && QUERIES.has(words[0].text.toLowerCase()) && !words.some((token) => token.kind === "word" && CHANGES.has(token.text.toLowerCase()));
}

const DEFINES = new Set(["create", "drop", "alter", "attach", "detach", "use", "import", "comment", "rollback", "truncate", "insert", "delete", "copy", "merge"]);

/** Whether the catalog may have changed. */
export const changesCatalog = (sql) => DEFINES.has(tokens(sql)[0]?.text.toLowerCase());

/** The table, when a statement is all of one: `FROM t` or `SELECT * FROM t`. */
export function bareTable(sql) {
  const words = tokens(sql);
  let at = 0;
  const isWord = (text) => words[at]?.kind === "word" && words[at].text.toLowerCase() === text && ++at > 0;
  if (isWord("select")) {
    if (words[at++]?.text !== "*") return null;
  }
  if (!isWord("from")) return null;
  const name = words.slice(at);
  const isName = name.length > 0 && name.length % 2 === 1 && name.length <= 5
    && name.every((token, index) => (index % 2 === 0 ? token.kind === "word" || token.kind === "quoted" : token.text === "."));
  return isName ? sql.slice(name[0].from) : null;
}

/** A name in quotes. */
export const quoted = (name) => `"${name.replaceAll('"', '""')}"`;

/** A name in quotes where it needs them. */
export const named = (name, reserved = new Set()) => (/^[a-z_][a-z0-9_]*$/.test(name) && !reserved.has(name) ? name : quoted(name));

/** A text as a literal. */
export const literal = (text) => `'${String(text).replaceAll("'", "''")}'`;
