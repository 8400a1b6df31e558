// The editor: CodeMirror in a shadow root, where its styles may be made by script under a Content-Security-Policy that allows no inline ones.
import {
  EditorState, EditorView, keymap, lineNumbers, highlightActiveLine, highlightActiveLineGutter, drawSelection, highlightSpecialChars, placeholder, Decoration,
  history, historyKeymap, defaultKeymap, indentWithTab, autocompletion, completionKeymap, closeBrackets, closeBracketsKeymap, acceptCompletion,
  StreamLanguage, LanguageSupport, syntaxHighlighting, HighlightStyle, bracketMatching, indentUnit, setDiagnostics, searchKeymap, search, highlightSelectionMatches,
  tags, Compartment, StateField, Prec, completionStatus, closeCompletion,
} from "../vendor/codemirror.js";
import { catalog, onCatalog } from "./catalog.js";
import { complete } from "./complete.js";
import { h } from "./dom.js";
import { statementAt, statements, tokens } from "./sql.js";

const TYPES = new Set(["bigint", "int", "integer", "smallint", "tinyint", "hugeint", "varchar", "text", "double", "real", "float", "decimal", "numeric", "boolean", "date", "time", "timestamp", "timestamptz",
  "interval", "blob", "uuid", "json", "struct", "map", "union", "enum", "bit", "ubigint", "uinteger", "usmallint", "utinyint", "uhugeint"]);
/** Words of the language that are not reserved, but are hardly ever names. */
const WORDS = new Set(("add alter analyze asof attach begin between by cascade commit copy cross cube current delete describe detach drop escape exists explain extension filter following grouping identity if ilike index insert interval into join "
  + "key left like macro matched materialized merge natural nulls offset outer over partition pivot positional pragma preceding primary recursive references replace returning right rollback rollup rows sample schema semi sequence set sets show similar "
  + "summarize table tablesample temp temporary transaction truncate unbounded unpivot update use values view within without inner full select from where group having order limit on using as and or not in is with create case when then else end union all distinct except intersect qualify window lateral").split(" "));

/** Colours by the engine's own words; what spans lines is remembered from one to the next. */
function sqlLanguage() {
  const skip = (stream, state) => {
    for (let next = stream.next(); next; next = stream.next()) {
      if (state.inside === "/*") {
        if (next === "*" && stream.eat("/")) { if (--state.depth === 0) { state.inside = null; return; } }
        else if (next === "/" && stream.eat("*")) state.depth++;
      } else if (state.inside.startsWith("$")) {
        if (next === "$" && stream.match(state.inside.slice(1))) { state.inside = null; return; }
      } else if (next === state.inside && !stream.eat(state.inside)) { state.inside = null; return; }
    }
  };
  return StreamLanguage.define({
    name: "sql",
    startState: () => ({ inside: null, depth: 0, isNamed: false }),
    token(stream, state) {
      if (state.inside) {
        const kind = state.inside === "/*" ? "comment" : state.inside === '"' ? "variableName.special" : "string";
        skip(stream, state);
        return kind;
      }
      if (stream.eatSpace()) return null;
      if (stream.match("--")) { stream.skipToEnd(); return "comment"; }
      if (stream.match("/*")) { state.inside = "/*"; state.depth = 1; skip(stream, state); return "comment"; }
      if (stream.match("'")) { state.inside = "'"; skip(stream, state); return "string"; }
      if (stream.match('"')) { state.inside = '"'; skip(stream, state); return "variableName.special"; }
      const dollar = stream.match(/^\$(?:[A-Za-z_][A-Za-z0-9_]*)?\$/);
      if (dollar) { state.inside = dollar[0]; skip(stream, state); return "string"; }
      if (stream.match(/^(?:[0-9][0-9_]*\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?/)) return "number";
      const word = stream.match(/^[\p{L}_][\p{L}\p{N}_$]*/u);
      if (word) {
        const name = word[0].toLowerCase();
        const isNamed = state.isNamed;
        state.isNamed = name === "as";
        const isCall = stream.match(/^\s*\(/, false);
        if (isCall && catalog.functions.has(name) && !catalog.reserved.has(name)) return "variableName.function";
        if (TYPES.has(name)) return "typeName";
        if (name === "true" || name === "false" || name === "null") return "atom";
        return (catalog.reserved.has(name) || (WORDS.has(name) && !isNamed)) && !isColumn(name) ? "keyword" : null;
      }
      state.isNamed = false;
      stream.next();
      return "punctuation";
    },
    languageData: { commentTokens: { line: "--", block: { open: "/*", close: "*/" } }, closeBrackets: { brackets: ["(", "[", "{", "'", '"'] } },
  });
}

let columnNames = new Set();
/** Many unreserved words are names of columns more often than words of the language. */
const isColumn = (name) => columnNames.has(name) && !catalog.reserved.has(name);

const colours = HighlightStyle.define([
  { tag: tags.keyword, color: "var(--code-keyword)", fontWeight: "500" },
  { tag: tags.string, color: "var(--code-string)" },
  { tag: tags.number, color: "var(--code-number)" },
  { tag: tags.comment, color: "var(--code-comment)", fontStyle: "italic" },
  { tag: tags.typeName, color: "var(--code-type)" },
  { tag: tags.atom, color: "var(--code-number)" },
  { tag: tags.function(tags.variableName), color: "var(--code-function)" },
  { tag: tags.special(tags.variableName), color: "var(--text)" },
  { tag: tags.punctuation, color: "var(--quiet)" },
]);

const look = EditorView.theme({
  "&": { height: "100%", color: "var(--text)", backgroundColor: "var(--paper)", fontSize: "13.5px" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.6", overflow: "auto" },
  ".cm-content": { caretColor: "var(--accent)", padding: "8px 0" },
  ".cm-gutters": { backgroundColor: "var(--paper)", color: "var(--quiet)", border: "none", paddingLeft: "4px" },
  ".cm-activeLine": { backgroundColor: "transparent" },
  "&.cm-focused .cm-activeLine": { backgroundColor: "var(--line-now)" },
  ".cm-activeLineGutter": { backgroundColor: "transparent", color: "var(--text)" },
  ".cm-cursor": { borderLeftColor: "var(--accent)", borderLeftWidth: "2px" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "var(--chosen) !important" },
  ".cm-statement": { boxShadow: "inset 2px 0 0 var(--accent-soft)" },
  ".cm-matchingBracket, &.cm-focused .cm-matchingBracket": { backgroundColor: "var(--chosen)", outline: "1px solid var(--edge-strong)" },
  ".cm-selectionMatch": { backgroundColor: "var(--line-now)" },
  ".cm-placeholder": { color: "var(--quiet)" },
  ".cm-tooltip": { backgroundColor: "var(--raised)", color: "var(--text)", border: "1px solid var(--edge-strong)", borderRadius: "7px", boxShadow: "var(--shadow)", overflow: "hidden" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul": { fontFamily: "var(--mono)", fontSize: "12.5px", maxHeight: "17em", minWidth: "260px" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li": { padding: "3px 8px", lineHeight: "1.5" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { backgroundColor: "var(--accent)", color: "var(--on-accent)" },
  ".cm-tooltip-autocomplete ul li[aria-selected] .cm-completionDetail": { color: "var(--on-accent)" },
  ".cm-completionDetail": { color: "var(--quiet)", fontStyle: "normal", marginLeft: "12px" },
  ".cm-completionMatchedText": { textDecoration: "none", fontWeight: "700" },
  ".cm-tooltip.cm-completionInfo": { padding: "8px 10px", maxWidth: "380px", fontSize: "12.5px", lineHeight: "1.45" },
  ".completion-info .signature": { fontFamily: "var(--mono)", fontSize: "11.5px", whiteSpace: "pre-wrap", marginBottom: "4px" },
  ".completion-info .example": { color: "var(--quiet)", margin: "6px 0 0" },
  ".cm-diagnostic": { padding: "6px 10px", borderLeft: "none", fontFamily: "var(--sans)", fontSize: "12.5px", maxWidth: "420px" },
  ".cm-lintRange-error": { backgroundImage: "none", textDecoration: "underline wavy var(--bad) 1px", textUnderlineOffset: "3px", backgroundColor: "var(--bad-soft)" },
  ".cm-lintPoint-error:after": { borderBottomColor: "var(--bad)" },
  ".cm-panels": { backgroundColor: "var(--raised)", color: "var(--text)", borderColor: "var(--edge)" },
  ".cm-textfield": { backgroundColor: "var(--paper)", color: "var(--text)", border: "1px solid var(--edge-strong)", borderRadius: "5px" },
  ".cm-button": { backgroundImage: "none", backgroundColor: "var(--raised)", color: "var(--text)", border: "1px solid var(--edge-strong)", borderRadius: "5px" },
});

/** Marks the lines of the statement that would run, when there are several. */
const statementMark = StateField.define({
  create: (state) => marks(state),
  update: (value, change) => (change.docChanged || change.selection ? marks(change.state) : value),
  provide: (field) => EditorView.decorations.from(field),
});
const line = Decoration.line({ class: "cm-statement" });

function marks(state) {
  const text = state.doc.toString();
  if (text.length > 200_000 || statements(text).length < 2) return Decoration.none;
  const one = statementAt(text, state.selection.main.head);
  if (!one) return Decoration.none;
  const out = [];
  for (let at = state.doc.lineAt(one.from); ; at = state.doc.line(at.number + 1)) {
    out.push(line.range(at.from));
    if (at.to >= one.to) break;
  }
  return Decoration.set(out);
}

export class Editor {
  /** `on.changed()` after edits; `keys` are bindings of CodeMirror. */
  constructor(on, keys) {
    this.on = on;
    this.language = new Compartment();
    this.element = h("div.editor");
    const root = this.element.attachShadow({ mode: "open" });
    const place = h("div", { style: { height: "100%" } });
    root.append(place);
    this.extensions = [
      Prec.highest(keymap.of(keys)), lineNumbers(), highlightActiveLine(), highlightActiveLineGutter(), highlightSpecialChars(), history(), drawSelection(),
      indentUnit.of("    "), bracketMatching(), closeBrackets(), search({ top: true }), highlightSelectionMatches(), statementMark,
      autocompletion({ override: [complete], activateOnTyping: true, maxRenderedOptions: 60, icons: false }),
      keymap.of([{ key: "Tab", run: acceptCompletion }, indentWithTab, ...closeBracketsKeymap, ...defaultKeymap, ...historyKeymap, ...completionKeymap, ...searchKeymap]),
      EditorView.lineWrapping, EditorView.contentAttributes.of({ "aria-label": "SQL", spellcheck: "false", autocapitalize: "off" }),
      placeholder("SELECT …"), syntaxHighlighting(colours), look, this.language.of(new LanguageSupport(sqlLanguage())),
      EditorView.updateListener.of((update) => { if (update.docChanged) this.on.changed(); }),
    ];
    this.view = new EditorView({ state: this.stateOf(""), parent: place, root });
    this.wordCount = 0;
    onCatalog(() => this.learn());
  }

  /** Colours again when the words of the engine are known. */
  learn() {
    columnNames = new Set(catalog.tables.flatMap((table) => table.columns.map((column) => column.name.toLowerCase())));
    this.view.dispatch({ effects: this.language.reconfigure(new LanguageSupport(sqlLanguage())) });
  }

  stateOf(text) {
    return EditorState.create({ doc: text, extensions: this.extensions });
  }

  get text() {
    return this.view.state.doc.toString();
  }

  get isCompleting() {
    return completionStatus(this.view.state) !== null;
  }

  show(state) {
    this.view.setState(state);
    this.learn();
  }

  focus() {
    this.view.focus();
  }

  /** The selection, or the statement at the cursor: `{ from, sql }` each. */
  chosen() {
    const { from, to, head } = this.view.state.selection.main;
    closeCompletion(this.view);
    const one = statementAt(this.text, head);
    const found = from !== to ? statements(this.text.slice(from, to)).map((part) => ({ from: from + part.from, sql: part.sql })) : one ? [one] : [];
    return found.map((part) => this.placed(part));
  }

  all() {
    closeCompletion(this.view);
    return statements(this.text).map((part) => this.placed(part));
  }

  /** With the number of its first line. */
  placed({ from, sql }) {
    return { from, sql, line: this.view.state.doc.lineAt(from).number };
  }

  /** Writes over the selection. */
  insert(text) {
    this.view.dispatch(this.view.state.replaceSelection(text));
    this.focus();
  }

  setText(text) {
    this.view.dispatch({ changes: { from: 0, to: this.view.state.doc.length, insert: text }, selection: { anchor: text.length } });
    this.focus();
  }

  /** Underlines the word at an error and puts the cursor there. */
  showError(statement, error) {
    if (this.text.slice(statement.from, statement.from + statement.sql.length) !== statement.sql) return;
    const at = Math.min(statement.from + error.offset, this.text.length);
    const word = tokens(this.text.slice(at, statement.from + statement.sql.length))[0];
    const to = Math.max(at, word ? at + word.to : at);
    const message = [error.message, error.hint].filter(Boolean).join("\n");
    this.view.dispatch(setDiagnostics(this.view.state, [{ from: at, to, severity: "error", message, source: error.sqlstate ?? undefined }]));
    this.view.dispatch({ effects: EditorView.scrollIntoView(at, { y: "nearest" }) });
  }

  clearErrors() {
    this.view.dispatch(setDiagnostics(this.view.state, []));
  }

  goTo(offset) {
    this.view.dispatch({ selection: { anchor: Math.min(offset, this.text.length) }, scrollIntoView: true });
    this.focus();
  }
}

