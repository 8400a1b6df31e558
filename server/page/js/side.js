// The side: catalog, functions, history, saved queries, and what runs on the server.
import { kill, running } from "./api.js";
import { catalog, loadCatalog, onCatalog, shortName } from "./catalog.js";
import { bytes, counted, duration, h, icon, plural, roving } from "./dom.js";
import { named } from "./sql.js";
import { history, looks, saved } from "./store.js";

const PANELS = [["catalog", "Catalog", "database"], ["functions", "Functions", "function"], ["history", "History", "history"], ["saved", "Saved queries", "star"], ["running", "Running statements", "running"]];
const FUNCTIONS_SHOWN = 120;

export class Side {
  /** `on.open(sql, name, runs)`, `on.insert(text)`, `on.said(text)`. */
  constructor(element, on) {
    this.on = on;
    this.element = element;
    this.tabs = PANELS.map(([name, title, picture]) => h("button.side-tab", { type: "button", role: "tab", id: `side-${name}`, title, "aria-label": title, "aria-controls": "side-panel", onclick: () => this.show(name) }, icon(picture)));
    this.panel = h("div.side-panel", { role: "tabpanel", id: "side-panel", tabIndex: -1 });
    element.append(h("div.side-tabs", { role: "tablist", "aria-orientation": "vertical", "aria-label": "Side", onkeydown: (event) => roving(event, this.tabs, { isVertical: true })?.click() }, ...this.tabs), this.panel);
    onCatalog(() => { if (this.shown === "catalog" || this.shown === "functions") this.show(this.shown); });
    this.open = new Set(looks.get("open", []));
    this.show(looks.get("side", "catalog"));
  }

  show(name) {
    clearTimeout(this.timer);
    const isNew = this.shown !== name;
    this.shown = name;
    looks.set("side", name);
    PANELS.forEach(([one], index) => {
      this.tabs[index].setAttribute("aria-selected", String(one === name));
      this.tabs[index].tabIndex = one === name ? 0 : -1;
    });
    const title = PANELS.find(([one]) => one === name)[1];
    this.panel.setAttribute("aria-labelledby", `side-${name}`);
    const filter = isNew ? "" : this.filter?.value ?? "";
    this.list = h("div.side-list");
    this.actions = h("div.side-actions");
    const hasFilter = name !== "running";
    const hadFocus = this.panel.contains(document.activeElement) && document.activeElement === this.filter;
    this.filter = h("input.filter", { type: "search", placeholder: "Filter", "aria-label": `Filter ${title.toLowerCase()}`, value: filter, spellcheck: false, oninput: () => this.fill(),
      onkeydown: (event) => { if (event.key === "ArrowDown") { event.preventDefault(); this.list.querySelector("[tabindex='0'], button")?.focus(); } } });
    this.panel.replaceChildren(h("div.side-head", {}, h("h2", {}, title), this.actions), hasFilter ? this.filter : "", this.list);
    this.fill();
    if (hadFocus) this.filter.focus();
  }

  /** Draws the list again, if it is what is shown. */
  refresh(name) {
    if (this.shown === name) this.fill();
  }

  fill() {
    const wanted = this.filter.value.trim().toLowerCase();
    this.actions.replaceChildren();
    ({ catalog: () => this.fillCatalog(wanted), functions: () => this.fillFunctions(wanted), history: () => this.fillHistory(wanted), saved: () => this.fillSaved(wanted), running: () => this.fillRunning() })[this.shown]();
  }

  action(name, label, run) {
    this.actions.append(h("button.ghost.small", { type: "button", title: label, "aria-label": label, onclick: run }, icon(name)));
  }

  empty(text) {
    this.list.append(h("p.empty", {}, text));
  }

  // The catalog: a tree that the arrow keys walk.

  fillCatalog(wanted) {
    this.action("refresh", "Read the catalog again", () => loadCatalog().catch((error) => this.on.said(error.message)));
    const items = [];
    const tables = catalog.tables.filter((table) => !wanted || table.name.toLowerCase().includes(wanted) || table.columns.some((column) => column.name.toLowerCase().includes(wanted)));
    const groups = new Map(catalog.databases.map((database) => [`${database.name}\0main`, []]));
    for (const table of tables) {
      const key = `${table.database}\0${table.schema}`;
      if (!groups.has(key)) groups.set(key, []);
      groups.get(key).push(table);
    }
    const tree = h("ul.tree", { role: "tree", "aria-label": "Catalog", onkeydown: (event) => this.treeKey(event) });
    for (const [key, members] of groups) {
      const [database, schema] = key.split("\0");
      const types = catalog.types.filter((type) => type.database === database && type.schema === schema && (!wanted || type.name.toLowerCase().includes(wanted)));
      if (wanted && !members.length && !types.length) continue;
      tree.append(this.schemaItem(database, schema, members, types, wanted, items));
    }
    const kept = items.find((item) => item.dataset.key === this.at) ?? items[0];
    if (kept) kept.tabIndex = 0;
    const hadFocus = this.list.contains(document.activeElement);
    this.list.replaceChildren(tree);
    if (hadFocus) kept?.focus();
    if (!catalog.tables.length && catalog.version) this.empty("No tables yet. CREATE TABLE makes one; a file can be read by FROM 'file.parquet'.");
  }

  schemaItem(database, schema, members, types, wanted, items) {
    const facts = catalog.databases.find((one) => one.name === database);
    const title = schema === "main" ? database : `${database}.${schema}`;
    const size = schema === "main" && facts?.bytes ? bytes(facts.bytes) : "";
    const item = this.treeItem({ key: `s:${database}.${schema}`, level: 1, picture: "database", title, note: [size, facts?.readonly && "read only"].filter(Boolean).join(" · "), isOpenFirst: true, wanted }, items);
    item.childList.append(...members.map((table) => this.tableItem(table, wanted, items)), ...types.map((type) => this.treeItem({ key: `y:${database}.${schema}.${type.name}`, level: 2, picture: "more", title: type.name, note: type.type.toLowerCase() }, items)));
    return item;
  }

  tableItem(table, wanted, items) {
    const name = shortName(table, named);
    const note = table.kind === "view" ? "view" : table.rows === null ? "" : short(table.rows);
    const item = this.treeItem({
      key: `t:${table.database}.${table.schema}.${table.name}`, level: 2, picture: table.kind === "view" ? "view" : "table", title: table.name, note, wanted: "",
      label: `${table.kind} ${table.name}${table.rows === null ? "" : `, ${plural(table.rows, "row")}`}`,
      tip: table.rows === null ? table.comment : `${plural(table.rows, "row")}${table.comment ? ` · ${table.comment}` : ""}`,
      run: () => this.on.open(`FROM ${name}`, table.name, true), action: "Show its rows", hasChildren: table.columns.length > 0,
    }, items);
    for (const column of table.columns) {
      item.childList.append(this.treeItem({ key: `c:${table.database}.${table.schema}.${table.name}.${column.name}`, level: 3, title: column.name, note: `${column.type.toLowerCase()}${column.nullable ? "" : " not null"}`,
        run: () => this.on.insert(named(column.name, catalog.reserved)), label: `column ${column.name}, ${column.type.toLowerCase()}` }, items));
    }
    return item;
  }

  treeItem({ key, level, picture, title, note, run, action, label, tip, isOpenFirst = false, hasChildren = level === 1, wanted = "" }, items) {
    const isOpen = wanted !== "" || (isOpenFirst ? !this.open.has(`-${key}`) : this.open.has(key));
    const toggle = () => {
      const now = item.getAttribute("aria-expanded") !== "true";
      item.setAttribute("aria-expanded", String(now));
      const mark = isOpenFirst ? `-${key}` : key;
      if (now !== isOpenFirst) this.open.add(mark);
      else this.open.delete(mark);
      looks.set("open", [...this.open].slice(-300));
    };
    const children = hasChildren ? h("ul", { role: "group" }) : null;
    const row = h("div.tree-row", { title: tip ?? null, onclick: () => { this.at = key; focusItem(item); if (hasChildren) toggle(); }, ondblclick: () => run?.() },
      h("span.twist", {}, hasChildren ? icon("right") : null), picture ? icon(picture) : null, h("span.tree-name", {}, title), h("span.tree-note", {}, note ?? ""),
      run && action ? h("button.tree-action", { type: "button", tabIndex: -1, title: action, "aria-label": `${action}: ${title}`, onclick: (event) => { event.stopPropagation(); run(); } }, icon("play")) : null);
    const item = h("li.tree-item", { role: "treeitem", tabIndex: -1, "aria-level": level, "aria-expanded": hasChildren ? String(isOpen) : null, "aria-label": label ?? title, data: { key } }, row, children);
    item.childList = children;
    item.runItem = run;
    item.toggleItem = toggle;
    items.push(item);
    return item;
  }

  treeKey(event) {
    const seen = [...this.list.querySelectorAll(".tree-item")].filter((item) => !item.parentElement.closest("[aria-expanded=false]"));
    const at = seen.indexOf(document.activeElement);
    const item = seen[at];
    if (!item) return;
    const go = (to) => { if (to) { focusItem(to); this.at = to.dataset.key; } };
    const open = item.getAttribute("aria-expanded");
    if (event.key === "ArrowDown") go(seen[at + 1]);
    else if (event.key === "ArrowUp") at === 0 ? this.filter.focus() : go(seen[at - 1]);
    else if (event.key === "Home") go(seen[0]);
    else if (event.key === "End") go(seen.at(-1));
    else if (event.key === "ArrowRight" && open === "false") item.toggleItem();
    else if (event.key === "ArrowRight" && open === "true") go(seen[at + 1]);
    else if (event.key === "ArrowLeft" && open === "true") item.toggleItem();
    else if (event.key === "ArrowLeft") go(item.parentElement.closest(".tree-item"));
    else if (event.key === "Enter" && item.runItem) item.runItem();
    else if ((event.key === "Enter" || event.key === " ") && open) item.toggleItem();
    else return;
    event.preventDefault();
  }

  // Functions, with what they do.

  fillFunctions(wanted) {
    const all = [...catalog.functions.values()];
    const found = wanted
      ? all.filter((one) => one.name.includes(wanted) || one.description?.toLowerCase().includes(wanted)).sort((a, b) => Number(b.name.startsWith(wanted)) - Number(a.name.startsWith(wanted)))
      : all.filter((one) => !one.aliasOf);
    this.list.replaceChildren(...found.slice(0, FUNCTIONS_SHOWN).map((known) => h("button.entry", { type: "button", title: "Write it into the query", onclick: () => this.on.insert(`${known.name}(`) },
      h("span.entry-code", {}, (known.signatures[0] ?? known.name).replace(/^\w+/, known.name)), h("span.entry-note", {}, known.description ?? (known.aliasOf ? `as ${known.aliasOf}` : "")),
      known.example && wanted ? h("span.entry-code.quiet", {}, known.example) : null)));
    if (found.length > FUNCTIONS_SHOWN) this.empty(`${counted(found.length - FUNCTIONS_SHOWN)} more; the filter finds them`);
    if (!found.length) this.empty(all.length ? "No function is called so or does that." : "…");
    this.moveByArrows();
  }

  fillHistory(wanted) {
    const all = history.all();
    const found = all.filter((entry) => !wanted || entry.sql.toLowerCase().includes(wanted));
    if (all.length) this.action("close", "Forget the history", () => { history.clear(); this.fill(); });
    this.list.replaceChildren(...found.slice(0, 200).map((entry) => h("button.entry", { type: "button", title: "Open in a tab of its own", onclick: () => this.on.open(entry.sql, null, false) },
      h("span.entry-code", {}, entry.sql.replace(/\s+/g, " ").slice(0, 220)),
      h(entry.error ? "span.entry-note.bad" : "span.entry-note", {}, [ago(entry.at), entry.error ? entry.error : `${duration(entry.ms)}${entry.rows === null ? "" : ` · ${plural(entry.rows, "row")}`}`].join(" · ")))));
    if (!found.length) this.empty(all.length ? "Nothing like it was run." : "What you run is listed here. It stays in this browser.");
    this.moveByArrows();
  }

  fillSaved(wanted) {
    this.action("plus", "Save the query of this tab", () => this.on.save());
    const all = saved.all();
    const found = all.filter((entry) => !wanted || entry.name.toLowerCase().includes(wanted) || entry.sql.toLowerCase().includes(wanted));
    this.list.replaceChildren(...found.map((entry) => h("div.entry-pair", {}, h("button.entry", { type: "button", onclick: () => this.on.open(entry.sql, entry.name, false) },
      h("span.entry-name", {}, entry.name), h("span.entry-code.quiet", {}, entry.sql.replace(/\s+/g, " ").slice(0, 160))),
      h("button.ghost.small", { type: "button", "aria-label": `Remove ${entry.name}`, title: "Remove", onclick: () => { saved.remove(entry.name); this.fill(); } }, icon("close")))));
    if (!found.length) this.empty(all.length ? "No saved query is like it." : "Ctrl S saves the query of a tab under a name. It stays in this browser.");
    this.moveByArrows();
  }

  async fillRunning() {
    clearTimeout(this.timer);
    try {
      const all = await running();
      if (this.shown !== "running") return;
      const hadFocus = this.list.contains(document.activeElement);
      this.list.replaceChildren(...all.map((one) => h("div.entry-pair", {}, h("div.entry.still", {}, h("span.entry-code", {}, one.sql.replace(/\s+/g, " ").slice(0, 220)),
        h("span.entry-note", {}, [duration(one.seconds * 1000), one.user, one.progress === null || one.progress === undefined ? null : `${Math.round(one.progress)} %`].filter(Boolean).join(" · "))),
        h("button.ghost.small.danger", { type: "button", "aria-label": `End ${one.sql.slice(0, 40)}`, title: "End this statement", onclick: () => kill(one.id).then((was) => this.on.said(was ? "the statement was ended" : "it had ended already"), (error) => this.on.said(error.message)) }, icon("stop")))));
      if (hadFocus) this.list.querySelector("button")?.focus();
      if (!all.length) this.empty("Nothing runs.");
      this.timer = setTimeout(() => this.refresh("running"), 1000);
    } catch (error) {
      this.list.replaceChildren();
      this.empty(error.status === 404 ? "This server does not tell what runs." : error.message);
    }
  }

  moveByArrows() {
    this.list.onkeydown = (event) => {
      const buttons = [...this.list.querySelectorAll(".entry")];
      if (event.key === "ArrowUp" && document.activeElement === buttons[0]) { event.preventDefault(); this.filter.focus(); }
      else roving(event, buttons, { isVertical: true });
    };
  }
}

function focusItem(item) {
  for (const other of item.closest("[role=tree]").querySelectorAll("[tabindex='0']")) other.tabIndex = -1;
  item.tabIndex = 0;
  item.focus();
}

function short(count) {
  if (count < 10000) return counted(count);
  const digits = (value) => Number(value.toPrecision(3));
  return count < 1e6 ? `${Math.round(count / 1e3)} k` : count < 1e9 ? `${digits(count / 1e6)} M` : `${digits(count / 1e9)} G`;
}

function ago(at) {
  const minutes = (Date.now() - at) / 60000;
  if (minutes < 1) return "just now";
  if (minutes < 60) return `${Math.floor(minutes)} min ago`;
  return minutes < 1440 ? `${Math.floor(minutes / 60)} h ago` : new Date(at).toISOString().slice(0, 10);
}
