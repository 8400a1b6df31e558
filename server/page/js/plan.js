// EXPLAIN ANALYZE as a tree: for each step its rows beside the estimate, its time as a bar, memory and spills where they are told.
import { query } from "./api.js";
import { bytes, counted, duration, h } from "./dom.js";
import { textOf } from "./values.js";

const NOTED = new Set(["operator", "inputs", "estimated_rows", "rows", "time", "q_error", "memory", "peak_memory", "memory_bytes", "spilled", "spilled_bytes", "spill"]);
/** Estimates that are wrong by more than this are pointed out. */
const WRONG = 10;

/** The plan of a statement, which runs when `isAnalyzed`. */
export async function loadPlan(sql, isAnalyzed, signal) {
  const { rows } = await query(`EXPLAIN (${isAnalyzed ? "ANALYZE, " : ""}FORMAT JSON) ${sql}`, { signal });
  return JSON.parse(rows.map((row) => textOf(row[0])).join("\n"));
}

/** Milliseconds of `12.5 ms`. */
function ms(time) {
  const [, number, unit] = /^([0-9.]+)\s*(\S*)$/.exec(String(time ?? "")) ?? [];
  return number === undefined ? null : Number(number) * ({ s: 1000, us: 0.001, "µs": 0.001 }[unit] ?? 1);
}

const size = (value) => (typeof value === "number" ? bytes(value) : String(value));

/** The tree as elements. */
export function planTree(plan) {
  const steps = [];
  const collect = (step, depth) => { steps.push({ step, depth }); (step.inputs ?? []).forEach((input) => collect(input, depth + 1)); };
  collect(plan, 1);
  const slowest = Math.max(0.001, ...steps.map(({ step }) => ms(step.time) ?? 0));
  const items = [];
  const tree = h("ul.plan", { role: "tree", "aria-label": "Plan", onkeydown: (event) => treeKey(event, items) }, node(plan, 1, slowest, items));
  if (items[0]) items[0].tabIndex = 0;
  return tree;
}

function node(step, level, slowest, items) {
  const inputs = step.inputs ?? [];
  const took = ms(step.time);
  const estimate = step.estimated_rows;
  const isWrong = step.q_error >= WRONG;
  const details = Object.entries(step).filter(([name, value]) => !NOTED.has(name) && value !== "" && value !== null);
  const spilled = step.spilled_bytes ?? step.spilled ?? step.spill;
  const memory = step.memory_bytes ?? step.peak_memory ?? step.memory;
  const facts = [
    step.rows !== undefined && h("span.fact", {}, h("b", {}, counted(Number(step.rows))), " rows"),
    estimate !== undefined && h("span.fact", {}, "estimated ", counted(Number(estimate))),
    step.q_error !== undefined && step.q_error > 1.5 && h(isWrong ? "span.fact.bad" : "span.fact", { title: "how many times the estimate is wrong" }, `off by ${Number(step.q_error).toPrecision(3)}×`),
    memory !== undefined && h("span.fact", {}, `memory ${size(memory)}`),
    spilled !== undefined && Number.parseFloat(spilled) > 0 && h("span.fact.bad", {}, `spilled ${size(spilled)}`),
  ];
  const bar = took === null ? null : h("div.plan-time", {}, h("div.plan-bar", { style: { width: `${Math.max(1, (took / slowest) * 100)}%` } }), h("span", {}, duration(took)));
  if (bar && took / slowest > 0.6) bar.classList.add("hot");
  const item = h("li.plan-step", { role: "treeitem", tabIndex: -1, "aria-level": level, "aria-expanded": inputs.length ? "true" : null, "aria-label": [step.operator, step.rows !== undefined && `${step.rows} rows`, took !== null && duration(took)].filter(Boolean).join(", ") },
    h("div.plan-card", {},
      h("div.plan-head", {}, h("span.plan-name", {}, step.operator), ...facts),
      details.length ? h("div.plan-details", {}, ...details.map(([name, value]) => h("div", {}, h("span.plan-key", {}, name.replaceAll("_", " ")), " ", typeof value === "object" ? JSON.stringify(value) : String(value)))) : null,
      bar));
  items.push(item);
  if (inputs.length) item.append(h("ul", { role: "group" }, ...inputs.map((input) => node(input, level + 1, slowest, items))));
  return item;
}

/** Up and down among steps, left and right to fold. */
function treeKey(event, items) {
  const seen = items.filter((item) => !item.parentElement.closest("[aria-expanded=false]"));
  const at = seen.findIndex((item) => item === document.activeElement);
  const item = seen[at];
  if (!item) return;
  const go = (to) => { if (seen[to]) { item.tabIndex = -1; seen[to].tabIndex = 0; seen[to].focus(); } };
  if (event.key === "ArrowDown") go(at + 1);
  else if (event.key === "ArrowUp") go(at - 1);
  else if (event.key === "Home") go(0);
  else if (event.key === "End") go(seen.length - 1);
  else if (event.key === "ArrowLeft" && item.getAttribute("aria-expanded") === "true") item.setAttribute("aria-expanded", "false");
  else if (event.key === "ArrowLeft") go(seen.indexOf(item.parentElement.closest(".plan-step")));
  else if (event.key === "ArrowRight" && item.getAttribute("aria-expanded") === "false") item.setAttribute("aria-expanded", "true");
  else if (event.key === "ArrowRight" && item.hasAttribute("aria-expanded")) go(at + 1);
  else return;
  event.preventDefault();
}
