// What the page uses of CodeMirror, and nothing else. vendor.sh makes codemirror.js of it.
export { EditorState, EditorSelection, Compartment, StateEffect, StateField, Prec, Transaction } from "@codemirror/state";
export { EditorView, keymap, lineNumbers, highlightActiveLine, highlightActiveLineGutter, drawSelection, highlightSpecialChars, placeholder, Decoration, tooltips } from "@codemirror/view";
export { history, historyKeymap, defaultKeymap, indentWithTab, isolateHistory } from "@codemirror/commands";
export { autocompletion, completionKeymap, closeBrackets, closeBracketsKeymap, acceptCompletion, completionStatus, closeCompletion } from "@codemirror/autocomplete";
export { StreamLanguage, LanguageSupport, syntaxHighlighting, HighlightStyle, bracketMatching, indentUnit } from "@codemirror/language";
export { setDiagnostics } from "@codemirror/lint";
export { searchKeymap, search, highlightSelectionMatches } from "@codemirror/search";
export { tags } from "@lezer/highlight";
