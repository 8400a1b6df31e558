// The page: tabs, runs of statements, what is seen of their results, and keys.
import { ServerError, hasSession, leave, newId, onUnauthorized, query, running } from "./api.js";
import { catalog, loadCatalog, loadWords, onCatalog } from "./catalog.js";
import { Chart } from "./chart.js";
import { announce, counted, duration, h, icon, menu, plural, roving } from "./dom.js";
import { Editor } from "./editor.js";
import { Grid, summaryPicture } from "./grid.js";
import { loadPlan, planTree } from "./plan.js";
import { FIRST_ROWS, Result } from "./result.js";
import { Side } from "./side.js";
import { bareTable, changesCatalog, isQuery, named } from "./sql.js";
import { history, looks, saved, tabs as keptTabs } from "./store.js";
import { kindOf, prettyOf, textOf } from "./values.js";

const $ = (id) => document.getElementById(id);
const FORMATS = [["csv", "CSV", "csv"], ["parquet", "Parquet", "parquet"], ["arrow", "Arrow", "arrow"], ["ndjson", "JSON, a line for each row", "ndjson"], ["json", "JSON", "json"], ["markdown", "Markdown", "md"]];
const VIEWS = [["grid", "Rows", "table"], ["chart", "Chart", "chart"], ["plan", "Plan", "plan"]];
const CANCELLED = "57014";
const isMac = navigator.platform.startsWith("Mac");
const key = (text) => (isMac ? text.replace("Ctrl ", "⌘").replace("Alt ", "⌥").replace("Shift ", "⇧") : text);
const FIRST_QUERY = "-- Ctrl Enter runs the statement at the cursor, or what is selected.\nSELECT 'Hello' AS greeting, 42 AS answer;\n";

const state = { tabs: [], active: 0, isSummarized: looks.get("summaries", false) };
const tab = () => state.tabs[state.active];
const run = () => tab().runs[tab().shownRun];

// ---- What is on the page --------------------------------------------------------------------------------------------------------------------------

const grid = new Grid({ menu: columnMenu, detail: showDetail, said: say });
const chart = new Chart();
const planPlace = h("div.plan-place", { tabIndex: -1 });
const message = h("div.message");
const content = h("div.content");
const runTabs = h("div.run-tabs", { role: "tablist", "aria-label": "Statements that ran", onkeydown: (event) => roving(event, [...runTabs.children])?.click() });
const viewTabs = h("div.view-tabs", { role: "tablist", "aria-label": "How the result is shown", onkeydown: (event) => roving(event, [...viewTabs.querySelectorAll("button")])?.click() },
  ...VIEWS.map(([name, title, picture]) => h("button", { type: "button", role: "tab", data: { view: name }, onclick: () => setView(name) }, icon(picture), h("span", {}, title))));
const summaryButton = h("button.ghost", { type: "button", "aria-pressed": "false", title: key("What the columns have in them (Alt S)"), onclick: toggleSummaries }, icon("chart"), h("span.wide-only", {}, "Summaries"));
const copyButton = h("button.ghost", { type: "button", title: key("Copy what is selected (Ctrl C)"), onclick: () => grid.copy(true) }, icon("copy"), h("span.wide-only", {}, "Copy"));
const downloadButton = h("button.ghost", { type: "button", "aria-haspopup": "menu", title: key("All rows as a file (Alt D)"), onclick: downloadMenu }, icon("download"), h("span.wide-only", {}, "Download"));
const status = h("div.status", {}, h("span.status-state"), h("span.space"), h("span.status-said"));
const progress = h("div.progress", { hidden: true, role: "progressbar", "aria-label": "Progress of the statement", "aria-valuemin": 0, "aria-valuemax": 100 }, h("div"));
const resultBar = h("div.result-bar", {}, viewTabs, runTabs, h("span.space"), summaryButton, copyButton, downloadButton);
$("results").append(progress, resultBar, content, status);

const editor = new Editor({ changed: () => { keepTabs(); } }, [
  { key: "Mod-Enter", run: () => (runChosen(), true) }, { key: "Mod-Shift-Enter", run: () => (runAll(), true) }, { key: "F5", run: () => (runAll(), true) },
  { key: "Mod-s", run: () => (saveQuery(), true) }, { key: "Mod-k", run: () => (palette(), true) },
]);
$("editor").append(editor.element);
const side = new Side($("side"), { open: openQuery, insert: (text) => { closeDrawer(); editor.insert(text); }, save: saveQuery, said: say });

$("drawer").append(icon("menu"));
$("new-tab").append(icon("plus"));
$("palette-button").firstElementChild.append(icon("search"));
$("palette-button").setAttribute("aria-label", "Commands");
$("palette-button").querySelector("kbd").textContent = key("Ctrl K");
$("explain").firstElementChild.append(icon("plan"));
$("explain").setAttribute("aria-label", "Explain");
$("theme").append(icon("moon"));

$("drawer").onclick = () => setDrawer(!document.body.classList.contains("with-side"));
$("new-tab").onclick = () => newTab();
$("palette-button").onclick = palette;
$("explain").onclick = explain;
$("run").onclick = () => (current ? cancel() : runChosen());
$("theme").onclick = () => setTheme(isDark() ? "light" : "dark");

function setDrawer(isOpen) {
  document.body.classList.toggle("with-side", isOpen);
  $("drawer").setAttribute("aria-expanded", String(isOpen));
  if (isOpen) $("side").querySelector("[aria-selected=true]").focus();
}

const closeDrawer = () => { if (document.body.classList.contains("with-side")) setDrawer(false); };

function say(text) {
  status.querySelector(".status-said").textContent = text;
  announce(text);
  clearTimeout(say.timer);
  say.timer = setTimeout(() => { status.querySelector(".status-said").textContent = ""; }, 6000);
}

// ---- Light and dark -------------------------------------------------------------------------------------------------------------------------------

const isDark = () => (document.documentElement.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";

function setTheme(name) {
  if (name) document.documentElement.dataset.theme = name;
  looks.set("theme", name);
}
setTheme(looks.get("theme", null));

// ---- Tabs -----------------------------------------------------------------------------------------------------------------------------------------

function newTab(text = "", name = null) {
  const names = new Set(state.tabs.map((one) => one.name));
  let number = state.tabs.length + 1;
  while (names.has(`Query ${number}`)) number++;
  keepState();
  state.tabs.push({ name: name ?? `Query ${number}`, editorState: editor.stateOf(text), runs: [], shownRun: 0, view: "grid" });
  showTab(state.tabs.length - 1);
}

function keepState() {
  if (tab()) tab().editorState = editor.view.state;
}

function showTab(index) {
  keepState();
  state.active = index;
  editor.show(tab().editorState);
  drawTabs();
  showRun();
  keepTabs();
  editor.focus();
}

function closeTab(index) {
  if (current?.tab === state.tabs[index]) cancel();
  keepState();
  for (const one of state.tabs[index].runs) one.result?.close();
  state.tabs.splice(index, 1);
  if (!state.tabs.length) {
    state.active = 0;
    return newTab();
  }
  const to = Math.min(state.active > index ? state.active - 1 : state.active, state.tabs.length - 1);
  state.active = to;
  editor.show(tab().editorState);
  drawTabs();
  showRun();
  keepTabs();
  editor.focus();
}

function drawTabs() {
  $("tabs").replaceChildren(...state.tabs.map((one, index) => {
    const isActive = index === state.active;
    return h(isActive ? "div.tab.active" : "div.tab", { role: "presentation" },
      h("button.tab-name", { type: "button", role: "tab", id: `tab-${index}`, tabIndex: isActive ? 0 : -1, "aria-selected": String(isActive), "aria-controls": "editor", onclick: () => showTab(index), ondblclick: () => renameTab(index), title: "Double click or F2 to name it" }, one.name),
      h("button.tab-close", { type: "button", tabIndex: isActive ? 0 : -1, "aria-label": `Close ${one.name}`, title: key("Close (Alt W)"), onclick: () => closeTab(index) }, icon("close")));
  }));
  $("editor").setAttribute("aria-labelledby", `tab-${state.active}`);
  document.title = `${tab().name} · Inlay`;
  $("tabs").querySelector(".active")?.scrollIntoView({ block: "nearest", inline: "nearest" });
}

$("tabs").onkeydown = (event) => {
  if (event.key === "F2") return renameTab(state.active);
  if (event.key === "Delete") return closeTab(state.active);
  const to = roving(event, [...$("tabs").querySelectorAll("[role=tab]")]);
  if (to) { const index = Number(to.id.slice(4)); showTab(index); $(`tab-${index}`).focus(); }
};

async function renameTab(index) {
  const name = await askText("Name of the tab", state.tabs[index].name, "Rename");
  if (!name) return;
  state.tabs[index].name = name;
  drawTabs();
  keepTabs();
}

function keepTabs() {
  clearTimeout(keepTabs.timer);
  keepTabs.timer = setTimeout(() => {
    keptTabs.save(state.active, state.tabs.map((one, index) => ({ name: one.name, text: index === state.active ? editor.text : one.editorState.doc.toString() })));
  }, 250);
}

function openQuery(sql, name, runsNow) {
  closeDrawer();
  const at = state.tabs.findIndex((one, index) => (index === state.active ? editor.text : one.editorState.doc.toString()).trim() === sql.trim());
  if (at >= 0) showTab(at);
  else if (!editor.text.trim() || editor.text === FIRST_QUERY) {
    editor.setText(sql);
    if (name) tab().name = name;
    drawTabs();
  } else newTab(sql, name);
  if (runsNow) runChosen();
}

async function saveQuery() {
  const name = await askText("Save the query as", /^Query \d+$/.test(tab().name) ? "" : tab().name, "Save");
  if (!name) return;
  saved.put(name, editor.text);
  tab().name = name;
  drawTabs();
  keepTabs();
  side.refresh("saved");
  say(`saved as ${name}`);
}

// ---- Running --------------------------------------------------------------------------------------------------------------------------------------

let current = null;

const runChosen = () => runStatements(editor.chosen());
const runAll = () => runStatements(editor.all());

async function runStatements(all) {
  if (current) return say("a statement is running; Escape ends it");
  if (!all.length) return say("there is no statement at the cursor");
  editor.clearErrors();
  const mine = tab();
  for (const one of mine.runs) one.result?.close();
  mine.runs = [];
  for (const statement of all) {
    const one = await runOne(mine, statement);
    mine.runs.push(one);
    mine.shownRun = mine.runs.length - 1;
    if (tab() === mine) {
      if (hasPlace(one.error)) editor.showError(statement, one.error);
      mine.view = mine.view === "chart" && one.result?.columns.length ? "chart" : "grid";
      showRun();
    }
    if (one.error) break;
  }
  if (all.some((statement) => changesCatalog(statement.sql))) loadCatalog().catch(() => {});
  side.refresh("history");
}

const hasPlace = (error) => error?.offset !== null && error?.offset !== undefined;

async function runOne(mine, statement) {
  const started = performance.now();
  const one = { statement, result: null, error: null, ms: 0, plan: null };
  begin(mine, statement.sql);
  try {
    const answer = await query(statement.sql, { limit: FIRST_ROWS, signal: current.abort.signal, id: current.id });
    one.ms = performance.now() - started;
    one.result = new Result({ sql: statement.sql, ...answer, ms: one.ms });
    one.result.onchange = () => { if (tab() === mine && run() === one) resultChanged(one); };
    one.done = answer.columns.length > 0 ? null : answer.changed === null ? "Done" : `${plural(answer.changed, "row")} changed`;
    if (!answer.isWhole) one.result.keep();
  } catch (error) {
    one.ms = performance.now() - started;
    one.error = error.name === "AbortError" ? new ServerError("the statement was cancelled", { sqlstate: CANCELLED }) : error instanceof ServerError ? error : new ServerError(String(error.message ?? error));
  }
  finish();
  history.add({ sql: statement.sql, at: Date.now(), ms: one.ms, rows: one.result && !one.done ? one.result.rowCount : null, error: one.error?.message ?? null });
  announce(one.error ? `Error: ${one.error.message}` : one.done ?? `${plural(one.result.rowCount, "row")}, ${duration(one.ms)}`);
  return one;
}

/** Shows that a statement runs: since when, how far, and a button that ends it. */
function begin(mine, sql) {
  current = { tab: mine, sql, id: newId(), abort: new AbortController(), started: performance.now(), percent: null };
  drawRunButton();
  const tick = () => {
    if (!current) return;
    const passed = performance.now() - current.started;
    if (passed > 250) {
      progress.hidden = false;
      status.querySelector(".status-state").textContent = `Running, ${duration(passed)}${current.percent === null ? "" : `, ${Math.round(current.percent)} %`}`;
    }
    const isUnknown = current.percent === null || current.percent < 1;
    progress.classList.toggle("unknown", isUnknown);
    if (current.percent !== null) progress.setAttribute("aria-valuenow", Math.round(current.percent));
    else progress.removeAttribute("aria-valuenow");
    progress.firstElementChild.style.width = isUnknown ? "30%" : `${current.percent}%`;
    current.timer = setTimeout(tick, 100);
  };
  tick();
  const watch = async () => {
    const mineNow = current;
    while (current === mineNow && mineNow) {
      await new Promise((resolve) => setTimeout(resolve, 700));
      if (current !== mineNow) return;
      try {
        const found = (await running()).find((one) => one.id === mineNow.id);
        if (found && found.progress !== null && found.progress !== undefined) mineNow.percent = found.progress;
      } catch {
        return;
      }
    }
  };
  watch();
}

function finish() {
  clearTimeout(current.timer);
  current = null;
  progress.hidden = true;
  drawRunButton();
}

function cancel() {
  if (current) {
    current.abort.abort();
    say("cancelled");
    return true;
  }
  const one = run();
  if (one?.result?.state === "keeping" || one?.result?.note === "sorting") {
    one.result.stop();
    return true;
  }
  return false;
}

function drawRunButton() {
  const isRunning = current !== null;
  $("run").replaceChildren(icon(isRunning ? "stop" : "play"), h("span", {}, isRunning ? "Cancel" : "Run"), h("kbd.wide-only", {}, isRunning ? "Esc" : key("Ctrl ↵")));
  $("run").classList.toggle("danger", isRunning);
}

async function explain() {
  const [statement] = editor.chosen();
  if (current) return say("a statement is running; Escape ends it");
  if (!statement) return say("there is no statement at the cursor");
  editor.clearErrors();
  const mine = tab();
  // A plan is measured by running: only for what does not change anything.
  const isAnalyzed = isQuery(statement.sql);
  const started = performance.now();
  begin(mine, statement.sql);
  const one = { statement, result: null, error: null, plan: null, ms: 0 };
  try {
    one.plan = await loadPlan(statement.sql, isAnalyzed, current.abort.signal);
    one.isAnalyzed = isAnalyzed;
  } catch (error) {
    one.error = error.name === "AbortError" ? new ServerError("the statement was cancelled", { sqlstate: CANCELLED }) : error;
    // The position counts from the start of EXPLAIN.
    const before = `EXPLAIN (${isAnalyzed ? "ANALYZE, " : ""}FORMAT JSON) `.length;
    if (hasPlace(one.error)) one.error.offset = Math.max(0, one.error.offset - before);
  }
  one.ms = performance.now() - started;
  finish();
  const same = mine.runs.find((other) => other.result && !other.error && other.statement.sql === statement.sql);
  if (same && one.plan) Object.assign(same, { plan: one.plan, isAnalyzed });
  else {
    for (const other of mine.runs) other.result?.close();
    mine.runs = [one];
  }
  mine.shownRun = same && one.plan ? mine.runs.indexOf(same) : 0;
  mine.view = one.plan ? "plan" : "grid";
  if (tab() !== mine) return;
  if (hasPlace(one.error)) editor.showError(statement, one.error);
  showRun();
  announce(one.error ? `Error: ${one.error.message}` : "The plan is shown");
}

// ---- What is seen of a result ---------------------------------------------------------------------------------------------------------------------

function setView(name) {
  if (name === "plan" && !run()?.plan) return explain();
  if (name === "grid" && run()?.plan && !run().result) return runStatements([run().statement]);
  tab().view = name;
  showRun();
}

function showRun() {
  const one = run();
  const { runs, shownRun, view } = tab();
  runTabs.replaceChildren(...(runs.length < 2 ? [] : runs.map((other, index) => h(other.error ? "button.bad" : "button", { type: "button", role: "tab", "aria-selected": String(index === shownRun), tabIndex: index === shownRun ? 0 : -1, title: other.statement.sql.slice(0, 200),
    onclick: () => { tab().shownRun = index; showRun(); runTabs.children[index]?.focus(); } }, String(index + 1)))));
  const hasRows = Boolean(one?.result?.columns.length) && !one.done;
  const seen = one?.error ? "grid" : view;
  for (const button of viewTabs.querySelectorAll("button")) {
    const name = button.dataset.view;
    button.setAttribute("aria-selected", String(name === seen));
    button.tabIndex = name === seen ? 0 : -1;
    button.disabled = name === "chart" ? !hasRows : name === "plan" ? !one || Boolean(one.error) : false;
  }
  resultBar.hidden = !one;
  for (const button of [summaryButton, copyButton, downloadButton]) button.hidden = !hasRows || (seen !== "grid" && button !== downloadButton);
  summaryButton.setAttribute("aria-pressed", String(state.isSummarized));
  if (!one) content.replaceChildren(firstWords());
  else if (one.error) content.replaceChildren(errorCard(one));
  else if (seen === "plan" && one.plan) {
    planPlace.replaceChildren(planTree(one.plan));
    content.replaceChildren(planPlace);
  } else if (!hasRows) {
    message.replaceChildren(h("p", {}, one.done ?? "Done"), h("p.quiet", {}, duration(one.ms)));
    content.replaceChildren(message);
  } else if (seen === "chart") {
    content.replaceChildren(chart.element);
    chart.show(one.result);
  } else {
    const isThere = grid.element.isConnected;
    if (!isThere) content.replaceChildren(grid.element);
    grid.showsSummaries = state.isSummarized;
    if (grid.result !== one.result) grid.show(one.result);
    else if (isThere) grid.refresh();
    else grid.comeBack();
  }
  drawStatus();
}

function resultChanged(one) {
  if (grid.element.isConnected && grid.result === one.result) grid.refresh();
  drawStatus();
  if (one.result.error) {
    say(one.result.error.message);
    one.result.error = null;
  }
}

function drawStatus() {
  const one = run();
  const place = status.querySelector(".status-state");
  if (current) return;
  if (!one) return place.replaceChildren();
  const { result } = one;
  if (one.error) return place.replaceChildren(`Failed after ${duration(one.ms)}`);
  if (!result) return place.replaceChildren(`${one.isAnalyzed ? "Measured" : "Planned"} in ${duration(one.ms)}`);
  const parts = [one.done ?? rowsText(result), one.done ? "" : plural(result.columns.length, "column"), duration(one.ms)].filter(Boolean);
  place.replaceChildren(parts.join(" · "));
  if (result.note === "sorting") place.append(" · sorting…");
  if (result.state === "keeping") place.append(h("button.link", { type: "button", onclick: () => result.stop() }, "stop counting"));
  else if (result.note && result.note !== "sorting") place.append(` · ${result.note}`);
}

function rowsText(result) {
  if (result.state === "keeping") return `the first ${counted(result.rowCount)} rows; keeping the others…`;
  if (result.state === "cut") return `the first ${counted(result.rowCount)} rows`;
  return plural(result.rowCount, "row");
}

function firstWords() {
  return h("div.first-words", {}, h("p", {}, h("kbd", {}, key("Ctrl Enter")), " runs the statement at the cursor"), h("p", {}, h("kbd", {}, key("Ctrl K")), " has all commands and tables"), h("p", {}, h("kbd", {}, "F6"), " goes from part to part"));
}

function errorCard({ error, statement }) {
  const card = h(error.sqlstate === CANCELLED ? "div.error-card.calm" : "div.error-card", { role: "group", "aria-label": "Error" }, h("div.error-head", {}, h("strong", {}, error.message), error.sqlstate ? h("code", { title: "SQLSTATE" }, error.sqlstate) : null));
  if (error.hint && !error.message.includes(error.hint)) card.append(h("p.error-hint", {}, error.hint));
  if (hasPlace(error)) {
    const before = statement.sql.slice(0, error.offset).split("\n");
    const text = statement.sql.split("\n")[before.length - 1] ?? "";
    const column = before.at(-1).length;
    const number = String(statement.line + before.length - 1);
    const start = Math.max(0, column - 60);
    card.append(h("pre.error-place", {}, h("span.quiet", {}, `${number}  `), `${start ? "…" : ""}${text.slice(start, start + 140)}\n`, h("span.bad", {}, `${" ".repeat(number.length + 2 + (start ? 1 : 0) + column - start)}^`)),
      h("button.ghost", { type: "button", onclick: () => editor.goTo(statement.from + error.offset) }, "Go there"));
  }
  return h("div.message-place", {}, card);
}

function toggleSummaries() {
  state.isSummarized = !state.isSummarized;
  looks.set("summaries", state.isSummarized);
  summaryButton.setAttribute("aria-pressed", String(state.isSummarized));
  if (run()?.result) grid.toggleSummaries(state.isSummarized);
}

function columnMenu(column, anchor) {
  const { result } = run();
  const { name, type } = result.columns[column];
  const facts = h("div.facts", {}, h("p.quiet", {}, "…"));
  const extra = h("div.menu-head", {}, h("div.menu-title", {}, h("strong", {}, name), h("span.quiet", {}, ` ${type.toLowerCase()}`)), facts);
  const sort = (isDescending) => () => { result.sort({ column, isDescending }).then(() => grid.refresh()); grid.element.focus(); };
  menu(anchor, [
    { label: "Ascending", hint: "↑", run: sort(false) }, { label: "Descending", hint: "↓", run: sort(true) },
    ...(result.order ? [{ label: "Order of the statement", run: () => result.sort(null) }] : []),
    { label: "Copy the name", run: () => grid.write(name, "the name is copied") }, { label: "Write it into the query", run: () => editor.insert(named(name, catalog.reserved)) },
  ].map((item) => ({ ...item, run: () => { grid.element.focus(); item.run(); } })), { extra });
  result.summary(column).then((known) => facts.replaceChildren(...factsOf(known)), (error) => facts.replaceChildren(h("p.quiet", {}, error.message)));
}

function factsOf(known) {
  const share = known.n ? (known.n - known.filled) / known.n : 0;
  const pairs = [["rows", counted(known.n)], ["NULL", known.n - known.filled ? `${counted(known.n - known.filled)} (${(share * 100).toPrecision(3)} %)` : "none"]];
  if (known.distinct_count !== undefined) pairs.push(["distinct, about", counted(known.distinct_count)]);
  if (known.least !== undefined && known.least !== null) pairs.push(["least", known.least], ["greatest", known.greatest]);
  if (known.average) pairs.push(["average", known.average]);
  const list = h("dl", {}, ...pairs.flatMap(([term, text]) => [h("dt", {}, term), h("dd", { title: text }, text)]));
  if (known.top.length) {
    const most = known.top[0].count;
    return [h("div.tops", {}, ...known.top.map(({ text, count }) => h("div.top", {}, h("div.top-bar", { style: { width: `${(count / most) * 100}%` } }), h("span.top-text", {}, text === "" ? "''" : text), h("span.quiet", {}, counted(count))))), list];
  }
  return known.bars.length ? [h("div.facts-picture", {}, ...summaryPicture(known, 248, 56).slice(0, 1)), list] : [list];
}

function downloadMenu() {
  const { result, statement } = run();
  const base = (bareTable(statement.sql)?.replaceAll(/[^\w]+/g, "_") ?? tab().name.replaceAll(/[^\p{L}\p{N}]+/gu, "-")).replace(/^_+|_+$/g, "") || "result";
  menu(downloadButton, FORMATS.map(([format, label, ending]) => ({ label, hint: `.${ending}`, run: async () => {
    say(`making ${base}.${ending}…`);
    try {
      const file = await result.file(format);
      const address = URL.createObjectURL(file);
      h("a", { href: address, download: `${base}.${ending}` }).click();
      setTimeout(() => URL.revokeObjectURL(address), 60000);
      say(`${base}.${ending} is downloaded`);
    } catch (error) {
      say(error.message);
    }
  } })));
}

// ---- Dialogs --------------------------------------------------------------------------------------------------------------------------------------

function dialog(title, children, { isWide = false } = {}) {
  const back = document.activeElement;
  const box = h(isWide ? "dialog.wide" : "dialog", { "aria-label": title, onclose: () => { box.remove(); if (document.activeElement === document.body) back?.focus?.(); } }, ...children);
  box.addEventListener("click", (event) => { if (event.target === box) box.close(); });
  document.body.append(box);
  box.showModal();
  return box;
}

function askText(title, value, label) {
  return new Promise((resolve) => {
    const input = h("input", { type: "text", value, required: true, "aria-label": title });
    const box = dialog(title, [h("form", { method: "dialog", onsubmit: () => resolve(input.value.trim()) }, h("h2", {}, title), input, h("div.dialog-foot", {}, h("button.ghost", { type: "button", onclick: () => box.close() }, "Cancel"), h("button.primary", {}, label)))]);
    box.addEventListener("close", () => resolve(null));
    input.select();
  });
}

onUnauthorized((said) => new Promise((resolve) => {
  const user = h("input", { type: "text", autocomplete: "username" }), password = h("input", { type: "password", autocomplete: "current-password" }), token = h("input", { type: "password", autocomplete: "off" });
  const field = (label, input) => h("label.field", {}, h("span", {}, label), input);
  const box = dialog("Log in", [h("form", { method: "dialog", onsubmit: () => resolve(token.value ? { token: token.value } : { user: user.value, password: password.value }) }, h("h2", {}, "Log in"), said ? h("p.bad", {}, said) : null,
    field("User", user), field("Password", password), h("p.quiet", {}, "or"), field("Token", token), h("div.dialog-foot", {}, h("button.primary", {}, "Log in")))]);
  box.addEventListener("close", () => resolve(null));
  user.focus();
}));

function showDetail(row, column) {
  const { result } = run();
  const value = result.row(row)?.[column];
  if (value === undefined) return;
  const { name, type } = result.columns[column];
  const text = value === null ? "NULL" : kindOf(type) === "nested" ? prettyOf(value) : textOf(value);
  const box = dialog(`${name}, row ${row + 1}`, [h("div.dialog-head", {}, h("h2", {}, name), h("span.quiet", {}, `${type.toLowerCase()} · row ${counted(row + 1)} · ${plural([...text].length, "character")}`)),
    h(value === null ? "pre.value.null" : "pre.value", { tabIndex: 0, "aria-label": "Value" }, text),
    h("div.dialog-foot", {}, h("button.ghost", { type: "button", onclick: () => grid.write(value === null ? "" : text, "the value is copied") }, "Copy"), h("button.primary", { type: "button", onclick: () => box.close() }, "Close"))], { isWide: true });
  box.querySelector("button.primary").focus();
}

const commands = () => [
  ["Run the statement at the cursor, or what is selected", "Ctrl Enter", runChosen], ["Run all statements", "Ctrl Shift Enter", runAll], ["Cancel what runs", "Escape", cancel], ["Explain: run and show the plan", "Alt E", explain],
  ["New query", "Alt T", () => newTab()], ["Close this query", "Alt W", () => closeTab(state.active)], ["Name this query", "F2", () => renameTab(state.active)], ["Save this query", "Ctrl S", saveQuery],
  ["Show rows", "Alt R", () => setView("grid")], ["Show the chart", "Alt C", () => setView("chart")], ["Show the plan", "Alt P", () => setView("plan")], ["Summaries of columns", "Alt S", toggleSummaries], ["Download the result", "Alt D", () => { if (!downloadButton.hidden) downloadMenu(); }],
  ["Go to the editor", "Alt Q", () => editor.focus()], ["Go to the results", "Alt J", focusResults], ["Go to the next part of the page", "F6", () => nextPart(1)],
  ...["catalog", "functions", "history", "saved", "running"].map((name) => [`Show ${name}`, "", () => { side.show(name); if (matchMedia("(max-width: 760px)").matches) setDrawer(true); side.filter.isConnected ? side.filter.focus() : side.tabs[4].focus(); }]),
  [isDark() ? "Light colours" : "Dark colours", "", () => setTheme(isDark() ? "light" : "dark")], ["Colours of the system", "", () => { delete document.documentElement.dataset.theme; looks.set("theme", null); }],
];

function palette() {
  const entries = [...commands().map(([label, keys, act]) => ({ label, keys: key(keys), act })), ...catalog.tables.map((table) => ({ label: table.name, keys: table.kind, act: () => openQuery(`FROM ${named(table.name, catalog.reserved)}`, table.name, true) })),
    ...saved.all().map((entry) => ({ label: entry.name, keys: "saved query", act: () => openQuery(entry.sql, entry.name, false) }))];
  let at = 0, found = entries;
  const list = h("ul.palette-list", { role: "listbox", id: "palette-list", "aria-label": "Commands" });
  const input = h("input", { type: "text", role: "combobox", placeholder: "Command, table or saved query", "aria-label": "Command, table or saved query", "aria-expanded": "true", "aria-controls": "palette-list", "aria-autocomplete": "list", spellcheck: false,
    oninput: () => { at = 0; fill(); },
    onkeydown: (event) => {
      if (event.key === "ArrowDown" || event.key === "ArrowUp") { event.preventDefault(); at = (at + (event.key === "ArrowDown" ? 1 : found.length - 1)) % Math.max(1, found.length); fill(); }
      else if (event.key === "Enter") { event.preventDefault(); choose(found[at]); }
    } });
  const fill = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    found = entries.filter(({ label }) => words.every((word) => label.toLowerCase().includes(word))).slice(0, 60);
    list.replaceChildren(...found.map((entry, index) => h(index === at ? "li.chosen" : "li", { role: "option", id: `palette-${index}`, "aria-selected": String(index === at), onclick: () => choose(entry) }, h("span", {}, entry.label), entry.keys ? h("kbd", {}, entry.keys) : null)));
    input.setAttribute("aria-activedescendant", `palette-${at}`);
    list.children[at]?.scrollIntoView({ block: "nearest" });
  };
  const box = dialog("Commands", [h("div.palette", {}, input, list)]);
  box.classList.add("palette-box");
  const choose = (entry) => { box.close(); entry?.act(); };
  fill();
  input.focus();
}

// ---- Keys -----------------------------------------------------------------------------------------------------------------------------------------

function focusResults() {
  if (grid.element.isConnected) grid.element.focus();
  else (content.querySelector("[tabindex='0'], button, select") ?? viewTabs.querySelector("[aria-selected=true]"))?.focus();
}

function nextPart(step) {
  const parts = [[$("editor"), () => editor.focus()], [$("results"), focusResults], [$("side"), () => side.tabs.find((one) => one.tabIndex === 0).focus()], [document.querySelector(".bar"), () => $("palette-button").focus()]]
    .filter(([part]) => part.offsetWidth > 0);
  const at = parts.findIndex(([part]) => part.contains(document.activeElement));
  parts[(at + step + parts.length) % parts.length][1]();
}

const ALT = { KeyE: explain, KeyT: () => newTab(), KeyW: () => closeTab(state.active), KeyR: () => setView("grid"), KeyC: () => setView("chart"), KeyP: () => setView("plan"), KeyS: toggleSummaries, KeyD: () => { if (!downloadButton.hidden) downloadMenu(); }, KeyQ: () => editor.focus(), KeyJ: focusResults };

addEventListener("keydown", (event) => {
  if (document.querySelector("dialog[open]")) return;
  const isMod = event.ctrlKey || event.metaKey;
  let act = null;
  if (event.altKey && !isMod && ALT[event.code]) act = ALT[event.code];
  else if (event.altKey && !isMod && /^Digit[1-9]$/.test(event.code)) { const index = Number(event.code[5]) - 1; if (state.tabs[index]) act = () => showTab(index); }
  else if (event.key === "F6") act = () => nextPart(event.shiftKey ? -1 : 1);
  else if (event.key === "F2" && !event.defaultPrevented) act = () => renameTab(state.active);
  else if (event.defaultPrevented) return;
  else if (isMod && event.key === "Enter") act = event.shiftKey ? runAll : runChosen;
  else if (isMod && event.key.toLowerCase() === "k") act = palette;
  else if (isMod && event.key.toLowerCase() === "s") act = saveQuery;
  else if (event.key === "Escape") {
    if (document.body.classList.contains("with-side")) act = () => { setDrawer(false); $("drawer").focus(); };
    else if (!cancel()) return;
  }
  if (!act) return;
  event.preventDefault();
  act();
});

// ---- The height of the editor ---------------------------------------------------------------------------------------------------------------------

function setSplit(percent) {
  const share = Math.round(Math.min(85, Math.max(10, percent)));
  $("work").style.setProperty("--editor-share", `${share}%`);
  $("split").setAttribute("aria-valuenow", String(share));
  looks.set("split", share);
}
setSplit(looks.get("split", 38));
$("split").onpointerdown = (event) => {
  event.preventDefault();
  $("split").setPointerCapture(event.pointerId);
  $("split").onpointermove = (now) => { const box = $("work").getBoundingClientRect(); setSplit(((now.clientY - box.top) / box.height) * 100); };
};
$("split").onpointerup = () => { $("split").onpointermove = null; };
$("split").onkeydown = (event) => {
  const step = { ArrowUp: -4, ArrowDown: 4 }[event.key];
  if (step) { event.preventDefault(); setSplit(Number($("split").getAttribute("aria-valuenow")) + step); }
};

// ---- The beginning --------------------------------------------------------------------------------------------------------------------------------

onCatalog(() => {
  const { database, schema } = catalog.current;
  $("where").textContent = schema === "main" ? database : `${database}.${schema}`;
  $("where").title = `Inlay ${catalog.version}`;
  hasSession().then((has) => { if (!has) $("where").title += ". Each statement stands alone: settings, transactions and temporary tables end with it"; }, () => {});
});

const kept = keptTabs.load();
const list = kept.list.length ? kept.list : [{ name: "Query 1", text: FIRST_QUERY }];
for (const { name, text } of list) state.tabs.push({ name, editorState: editor.stateOf(text), runs: [], shownRun: 0, view: "grid" });
drawRunButton();
state.active = Math.min(kept.active, list.length - 1);
editor.show(tab().editorState);
drawTabs();
showRun();
editor.focus();
addEventListener("pagehide", leave);
// A page that the browser kept aside comes back without its session.
addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });
loadCatalog().then(loadWords).catch((error) => say(error.message));
