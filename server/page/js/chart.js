// What a chart asks the engine for. Rows are reduced there: to bins of a line, groups of bars, cells of a cloud; the browser draws some hundred marks.
import { query } from "./api.js";
import { drawChart } from "./draw.js";
import { counted, h } from "./dom.js";
import { binsOf } from "./result.js";
import { isInteger, kindOf, textOf } from "./values.js";

const LINE_POINTS = 320, BARS = 40, POINTS_MAX = 4000, SERIES_MAX = 6, HISTOGRAM_BINS = 40;
const CLOUD = { x: 96, y: 54 };
const KINDS = [["line", "Line"], ["bar", "Bar"], ["scatter", "Scatter"], ["histogram", "Histogram"]];
const MEASURES = [["sum", "sum"], ["avg", "average"], ["min", "least"], ["max", "greatest"], ["median", "median"], ["count", "count"]];
const OTHER = "\u0000other";

const number = (value) => (value === null ? null : Number(textOf(value).replace(/^(-?)inf$/, "$1Infinity")));

export class Chart {
  constructor() {
    this.choose = {};
    this.place = h("div.chart-place");
    this.words = h("p.chart-words", { role: "status" });
    this.controls = h("div.chart-controls");
    this.asked = h("pre.chart-sql", { tabIndex: 0, "aria-label": "SQL of the chart" });
    this.element = h("div.chart", {}, this.controls, this.place, h("div.chart-foot", {}, this.words, h("details", {}, h("summary", {}, "SQL"), this.asked)));
    new ResizeObserver(() => this.model && this.place.clientWidth && drawChart(this.place, this.model)).observe(this.place);
  }

  show(result) {
    if (result === this.result && this.model) return;
    const isSame = this.result && result.columns.length === this.result.columns.length && result.columns.every(({ name, type }, index) => name === this.result.columns[index].name && type === this.result.columns[index].type);
    this.result = result;
    if (!isSame) this.choose = suggestion(result);
    this.drawControls();
    this.draw();
  }

  drawControls() {
    const { columns } = this.result;
    const of = (accepts) => columns.map(({ name, type }, index) => [String(index), name, kindOf(type)]).filter(([, , kind]) => accepts(kind));
    const select = (label, name, options) => {
      const box = h("select", { "aria-label": label, onchange: () => { this.choose[name] = box.value === "" ? null : /^\d+$/.test(box.value) ? Number(box.value) : box.value; this.drawControls(); this.draw(); } },
        ...options.map(([value, text]) => h("option", { value }, text)));
      box.value = this.choose[name] === null ? "" : String(this.choose[name]);
      return h("label.control", {}, h("span", {}, label), box);
    };
    const { type, measure } = this.choose;
    const numbers = of((kind) => kind === "number");
    const flat = of((kind) => kind !== "nested");
    const parts = [select("Chart", "type", KINDS), select(type === "histogram" ? "Of" : "X", "x", type === "scatter" ? of((kind) => kind === "number" || kind === "time") : flat)];
    if (type !== "histogram") {
      if (type !== "scatter") parts.push(select("Measure", "measure", MEASURES));
      if (type === "scatter" || measure !== "count") parts.push(select("Y", "y", numbers));
      parts.push(select("Colour", "series", [["", "none"], ...flat]));
    }
    const focused = [...this.controls.querySelectorAll("select")].indexOf(document.activeElement);
    this.controls.replaceChildren(...parts);
    if (focused >= 0) this.controls.querySelectorAll("select")[focused]?.focus();
  }

  async draw() {
    const { result } = this;
    const token = (this.token = {});
    this.words.textContent = "Asking…";
    this.model = null;
    try {
      const model = await this.ask(await result.relation());
      if (token !== this.token) return;
      this.model = model;
      this.words.textContent = model.words;
      this.asked.textContent = model.sql;
      drawChart(this.place, model);
    } catch (error) {
      if (token !== this.token) return;
      this.place.replaceChildren();
      this.words.textContent = error.message;
    }
  }

  ask({ from, exprs }) {
    const { type, x, y, measure, series } = this.choose;
    const { columns } = this.result;
    if (x === null || x === undefined || !columns[x]) throw new Error("there is no column that a chart could show");
    if ((type === "scatter" || (type !== "histogram" && measure !== "count")) && (y === null || y === undefined)) throw new Error("there is no column of numbers for Y; count can be charted");
    const what = { from, x: { ...columns[x], expr: exprs[x], kind: kindOf(columns[x].type) }, y: columns[y] && { ...columns[y], expr: exprs[y] },
      series: series === null || series === undefined ? null : { ...columns[series], expr: exprs[series] }, measure, rows: this.result.rowCount };
    if (type === "line") return line(what);
    if (type === "scatter") return scatter(what);
    return type === "histogram" && isRange(what.x) ? histogram(what) : bars(type === "histogram" ? { ...what, measure: "count", series: null } : what);
  }
}

const isRange = (column) => column.kind === "number" || column.kind === "time";
const place = (column) => (column.kind === "time" ? `epoch(${column.expr})::DOUBLE` : `${column.expr}::DOUBLE`);
const measured = ({ measure, y }) => (measure === "count" ? "count(*)" : `${measure}(${y.expr})::DOUBLE`);
const titleOf = ({ measure, y }) => (measure === "count" ? "count" : `${MEASURES.find(([name]) => name === measure)[1]} of ${y.name}`);

/** A first guess by the types of the columns. */
function suggestion(result) {
  const kinds = result.columns.map((column) => kindOf(column.type));
  const first = (kind, but = -1) => { const at = kinds.findIndex((one, index) => one === kind && index !== but); return at < 0 ? null : at; };
  const time = first("time"), text = first("text") ?? first("truth");
  let x = time ?? text ?? first("number");
  const y = first("number", x);
  const numbers = kinds.filter((kind) => kind === "number").length;
  let type = time !== null ? "line" : text !== null ? "bar" : numbers > 1 ? "line" : "histogram";
  if (x === null) x = kinds.findIndex((kind) => kind !== "nested");
  const measure = y === null ? "count" : result.rowCount > 2000 ? "avg" : "sum";
  if (type === "line" && y === null) type = "histogram";
  return { type, x: x < 0 ? null : x, y, measure, series: null };
}

async function rangeOf(from, columns) {
  const parts = columns.map((column) => `min(${place(column)}) FILTER (WHERE isfinite(${place(column)})), max(${place(column)}) FILTER (WHERE isfinite(${place(column)})), approx_count_distinct(${column.expr})`);
  const { rows: [row] } = await query(`SELECT ${parts.join(", ")} FROM ${from}`);
  return columns.map((_, index) => ({ low: number(row[index * 3]), high: number(row[index * 3 + 1]), distinct: number(row[index * 3 + 2]) }));
}

/** The most frequent values of the column that gives colours; the others share one. */
async function seriesOf({ from, series }) {
  if (!series) return null;
  const { rows } = await query(`SELECT ${series.expr}::VARCHAR FROM ${from} GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT ${SERIES_MAX + 1}`);
  const names = rows.map(([name]) => name);
  return names.length > SERIES_MAX ? { names: names.slice(0, SERIES_MAX - 1), hasOther: true } : { names, hasOther: false };
}

function seriesExpr({ series }, known) {
  if (!series) return "NULL";
  if (!known.hasOther) return `${series.expr}::VARCHAR`;
  const list = known.names.filter((name) => name !== null).map((name) => `'${name.replaceAll("'", "''")}'`).join(", ") || "NULL";
  return `CASE WHEN ${series.expr}::VARCHAR IN (${list}) THEN ${series.expr}::VARCHAR ELSE 'other' END`;
}

/** Points by series, those with most rows first. */
function group(rows, point, known, title) {
  const out = new Map();
  for (const name of known ? [...known.names, ...(known.hasOther ? ["other"] : [])] : [OTHER]) out.set(known ? name ?? "NULL" : OTHER, []);
  for (const row of rows) {
    const name = known ? (row[0] === null ? "NULL" : textOf(row[0])) : OTHER;
    if (!out.has(name)) out.set(name, []);
    out.get(name).push(point(row));
  }
  return [...out].filter(([, points]) => points.length).map(([name, points]) => ({ name: name === OTHER ? title : name, points }));
}

async function line(what) {
  const { from, x } = what;
  if (!isRange(x)) return bars(what);
  const [range] = await rangeOf(from, [x]);
  if (range.low === null) throw new Error(`${x.name} has no values`);
  const known = await seriesOf(what);
  const isBinned = range.distinct > LINE_POINTS;
  const width = (range.high - range.low) / LINE_POINTS || 1;
  const at = isBinned ? `least(floor((${place(x)} - ${range.low}::DOUBLE) / ${width}::DOUBLE), ${LINE_POINTS - 1})` : place(x);
  const band = isBinned && what.measure === "avg" && !known ? `, min(${what.y.expr})::DOUBLE, max(${what.y.expr})::DOUBLE` : "";
  const sql = `SELECT ${seriesExpr(what, known)} AS series, ${at} AS place, avg(${place(x)}) AS x, ${measured(what)} AS y${band}
FROM ${from}
WHERE isfinite(${place(x)})
GROUP BY 1, 2
ORDER BY 1, 2`;
  const { rows } = await query(sql);
  const series = group(rows, (row) => ({ x: number(row[2]), y: number(row[3]), low: number(row[4] ?? null), high: number(row[5] ?? null) }), known, titleOf(what));
  const words = isBinned ? `${counted(what.rows)} rows in ${LINE_POINTS} steps of ${x.name}${band ? "; the band is from least to greatest" : ""}` : `${counted(what.rows)} rows, one point for each ${x.name}`;
  return { type: "line", xKind: x.kind, xTitle: x.name, yTitle: titleOf(what), series, words, sql };
}

async function bars(what) {
  const { from, x } = what;
  if (isRange(x)) {
    const [range] = await rangeOf(from, [x]);
    if (range.distinct > BARS) return binnedBars(what, range);
  }
  const known = await seriesOf(what);
  const order = isRange(x) ? `${x.expr}` : `${what.measure === "count" ? "count(*)" : measured(what)} DESC NULLS LAST, 1`;
  const inside = `SELECT ${x.expr} AS x FROM ${from} GROUP BY ${x.expr} ORDER BY ${order} LIMIT ${BARS + 1}`;
  const { rows: first } = await query(`SELECT x::VARCHAR FROM (${inside}) AS t`);
  const labels = first.slice(0, BARS).map(([label]) => (label === null ? "NULL" : textOf(label)));
  const filter = first.length > BARS ? `WHERE ${x.expr} IN (SELECT x FROM (${inside}) AS t)\n` : "";
  const sql = `SELECT ${seriesExpr(what, known)} AS series, ${x.expr}::VARCHAR AS x, ${measured(what)} AS y
FROM ${from}
${filter}GROUP BY 1, 2`;
  const { rows } = await query(sql);
  const index = new Map(labels.map((label, at) => [label, at]));
  const series = group(rows.filter((row) => index.has(row[1] === null ? "NULL" : textOf(row[1]))), (row) => ({ x: index.get(row[1] === null ? "NULL" : textOf(row[1])), y: number(row[2]) }), known, titleOf(what));
  const words = first.length > BARS ? `the first ${BARS} of more values of ${x.name}` : `${labels.length} values of ${x.name}, ${counted(what.rows)} rows`;
  return { type: "bar", xKind: "band", labels, xTitle: x.name, yTitle: titleOf(what), series, words, sql };
}

async function binnedBars(what, range) {
  const known = await seriesOf(what);
  const { start, width, count } = binsOf(range.low, range.high, BARS, isInteger(what.x.type));
  const sql = `SELECT ${seriesExpr(what, known)} AS series, ${binExpr(what.x, start, width, count)} AS bin, ${measured(what)} AS y
FROM ${what.from}
WHERE isfinite(${place(what.x)})
GROUP BY 1, 2`;
  const { rows } = await query(sql);
  const series = group(rows, (row) => ({ x: number(row[1]), y: number(row[2]) }), known, titleOf(what));
  return { type: "bins", xKind: what.x.kind, start, width, count, xTitle: what.x.name, yTitle: titleOf(what), series, words: `${counted(what.rows)} rows in ${count} bins of ${what.x.name}`, sql };
}

const binExpr = (x, start, width, count) => `least(greatest(floor((${place(x)} - ${start}::DOUBLE) / ${width}::DOUBLE), 0), ${count - 1})::INTEGER`;

async function histogram(what) {
  const [range] = await rangeOf(what.from, [what.x]);
  if (range.low === null) throw new Error(`${what.x.name} has no values`);
  const { start, width, count } = binsOf(range.low, range.high, HISTOGRAM_BINS, isInteger(what.x.type));
  const sql = `SELECT ${binExpr(what.x, start, width, count)} AS bin, count(*) AS y
FROM ${what.from}
WHERE isfinite(${place(what.x)})
GROUP BY 1
ORDER BY 1`;
  const { rows } = await query(sql);
  const points = rows.map(([bin, y]) => ({ x: number(bin), y: number(y) }));
  return { type: "bins", xKind: what.x.kind, start, width, count, xTitle: what.x.name, yTitle: "rows", series: [{ name: "rows", points }], words: `${counted(what.rows)} rows in ${count} bins of ${what.x.name}`, sql };
}

async function scatter(what) {
  const { from, x } = what;
  const y = { ...what.y, kind: "number" };
  const [across, up] = await rangeOf(from, [x, y]);
  if (across.low === null || up.low === null) throw new Error(`${across.low === null ? x.name : y.name} has no values`);
  const finite = `isfinite(${place(x)}) AND isfinite(${place(y)})`;
  const titles = { xKind: x.kind, xTitle: x.name, yTitle: y.name, xRange: [across.low, across.high], yRange: [up.low, up.high] };
  if (what.rows <= POINTS_MAX) {
    const known = await seriesOf(what);
    const sql = `SELECT ${seriesExpr(what, known)} AS series, ${place(x)} AS x, ${place(y)} AS y
FROM ${from}
WHERE ${finite}`;
    const { rows } = await query(sql);
    const series = group(rows, (row) => ({ x: number(row[1]), y: number(row[2]) }), known, y.name);
    return { type: "scatter", ...titles, series, words: `${counted(rows.length)} points`, sql };
  }
  const cell = (column, range, count) => binExpr(column, range.low, (range.high - range.low) / count || 1, count);
  const sql = `SELECT ${cell(x, across, CLOUD.x)} AS x, ${cell(y, up, CLOUD.y)} AS y, count(*) AS n
FROM ${from}
WHERE ${finite}
GROUP BY 1, 2`;
  const { rows } = await query(sql);
  const cells = rows.map((row) => row.map(number));
  return { type: "cloud", ...titles, cells, size: CLOUD, series: [], words: `${counted(what.rows)} points, counted in ${counted(cells.length)} cells: the darker, the more`, sql };
}
