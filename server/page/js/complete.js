// Completion: what the place of the cursor may hold, from the catalog and the engine's own words and functions.
import { catalog, shortName } from "./catalog.js";
import { h } from "./dom.js";
import { named, statementAt, tokens } from "./sql.js";

const BEFORE_TABLES = new Set(["from", "join", "into", "update", "table", "describe", "summarize", "desc", "view"]);

/** Tables of a statement by the names that stand for them, in lower case. */
function tablesOf(words) {
  const out = new Map();
  for (let at = 0; at < words.length; at++) {
    const isComma = words[at].text === "," && out.size > 0;
    if (!isComma && !(words[at].kind === "word" && BEFORE_TABLES.has(words[at].text.toLowerCase()))) continue;
    const path = [];
    let next = at + 1;
    while (words[next] && (words[next].kind === "word" || words[next].kind === "quoted")) {
      path.push(nameOf(words[next]));
      if (words[next + 1]?.text !== ".") break;
      next += 2;
    }
    const table = find(path);
    if (!table) continue;
    let alias = words[next + 1];
    if (alias?.text.toLowerCase() === "as") alias = words[next + 2];
    out.set(path.at(-1), table);
    if (alias && (alias.kind === "quoted" || (alias.kind === "word" && !catalog.keywords.has(alias.text.toLowerCase())))) out.set(nameOf(alias), table);
  }
  return out;
}

const nameOf = (token) => (token.kind === "quoted" ? token.text.slice(1, -1).replaceAll('""', '"') : token.text).toLowerCase();

function find(path) {
  if (!path.length) return null;
  return catalog.tables.find((table) => {
    const whole = [table.database, table.schema, table.name].map((part) => part.toLowerCase());
    const ends = [whole.slice(-path.length), [whole[0], whole[2]]].some((end) => end.length === path.length && end.every((part, index) => part === path[index]));
    return ends;
  });
}

const columnOption = (column, table, boost = 20) => ({ label: column.name, apply: named(column.name, catalog.reserved), type: "property", detail: `${column.type.toLowerCase()} · ${table.name}`, boost });
const tableOption = (table, boost = 10) => ({ label: table.name, apply: shortName(table, named), type: table.kind === "view" ? "interface" : "class", detail: `${table.kind}${table.schema === "main" ? "" : ` · ${table.schema}`}`, boost });

function functionOption(known, boost = 0) {
  return {
    label: known.name, type: "function", detail: known.kind === "scalar" ? "" : known.kind.replace("_", " "), boost,
    apply: (view, completion, from, to) => {
      const hasBracket = view.state.sliceDoc(to, to + 1) === "(";
      view.dispatch({ changes: { from, to, insert: known.name + (hasBracket ? "" : "()") }, selection: { anchor: from + known.name.length + 1 } });
    },
    info: () => h("div.completion-info", {}, h("div.signature", {}, known.signatures.slice(0, 4).join("\n") || known.name),
      known.description ? h("div", {}, known.description) : null, known.example ? h("div.signature.example", {}, known.example) : null),
  };
}

/** The source of completions for the editor. */
export function complete(context) {
  const text = context.state.doc.toString();
  const word = context.matchBefore(/[\p{L}_][\p{L}\p{N}_$]*$/u) ?? { from: context.pos, to: context.pos, text: "" };
  const statement = statementAt(text, context.pos) ?? { from: 0, sql: "" };
  const all = tokens(text.slice(statement.from, Math.max(word.from, statement.from)), { withAll: true });
  const before = all.filter((token) => token.kind !== "space" && token.kind !== "comment");
  const open = all.at(-1);
  // Inside of a text or a comment nothing is offered.
  if (open && (open.kind === "comment" || (open.kind === "string" && !/^'(?:[^']|'')*'$|^\$/.test(open.text)))) return null;
  const inTables = tablesOf(tokens(statement.sql));
  const last = before.at(-1);
  let options;
  if (last?.text === ".") {
    options = afterPoint(before.at(-2), inTables);
  } else if (last?.kind === "word" && BEFORE_TABLES.has(last.text.toLowerCase())) {
    const functions = [...catalog.functions.values()].filter((known) => known.kind.startsWith("table"));
    options = [...catalog.tables.map((table) => tableOption(table)), ...functions.map((known) => functionOption(known, -5)),
      ...catalog.databases.map((database) => ({ label: database.name, type: "namespace", boost: -2 }))];
  } else {
    if (!word.text && !context.explicit) return null;
    const columns = new Map();
    for (const table of inTables.values()) for (const column of table.columns) columns.set(column.name, columnOption(column, table));
    options = [...columns.values(), ...[...inTables.keys()].map((name) => ({ label: name, type: "class", detail: "in this statement", boost: 5 })),
      ...catalog.tables.map((table) => tableOption(table, -10)),
      ...[...catalog.functions.values()].filter((known) => !known.kind.startsWith("table")).map((known) => functionOption(known, known.aliasOf ? -3 : -1)),
      ...keywordOptions(word.text)];
  }
  if (!options.length) return null;
  return { from: word.from, options, validFor: /^[\p{L}_][\p{L}\p{N}_$]*$/u };
}

function afterPoint(owner, inTables) {
  if (!owner) return [];
  const name = nameOf(owner);
  const table = inTables.get(name) ?? find([name]);
  const columns = table ? table.columns.map((column) => columnOption(column, table)) : [];
  const inside = catalog.tables.filter((one) => one.schema.toLowerCase() === name || one.database.toLowerCase() === name)
    .map((one) => ({ label: one.name, apply: named(one.name, catalog.reserved), type: "class", detail: one.kind }));
  return [...columns, ...inside];
}

/** Words in the case in which the user writes. */
function keywordOptions(typed) {
  const isLower = typed !== "" && typed === typed.toLowerCase();
  return [...catalog.keywords].map((word) => ({ label: isLower ? word : word.toUpperCase(), type: "keyword", boost: catalog.reserved.has(word) ? 2 : -20 }));
}
