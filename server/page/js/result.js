// Where the rows of a result are. The browser holds windows of them; orders, summaries and charts are queries of the engine.
//
// whole     all rows came with the answer
// keeping   more rows: the statement is being kept in a temporary table, the first rows can be seen meanwhile
// kept      it is kept; windows are read from there
// table     the statement is all of a table, which is read itself; so is every statement where the server has no sessions to keep rows in
// cut       the statement may not run twice, or its rows could not be kept: only the first rows can be seen
import { ask, download, hasSession, query } from "./api.js";
import { bareTable, isQuery, literal, quoted } from "./sql.js";
import { comparator, isInteger, kindOf, textOf } from "./values.js";

export const FIRST_ROWS = 1000;
const BLOCK = 500;
const BLOCKS_MAX = 80;
/** Bars of a summary. */
export const BINS = 24;
/** Names of the page's own temporary tables begin so; the catalog does not show them. */
export const OWN = "_inlay_page_";

let tableCount = 0;
const newTable = () => `temp.main.${OWN}${++tableCount}`;

export class Result {
  constructor({ sql, columns, rows, isWhole, ms }) {
    Object.assign(this, { sql, columns, ms, first: rows, shown: rows, order: null, source: null, note: "", error: null });
    this.count = isWhole ? rows.length : null;
    this.state = isWhole ? "whole" : "cut";
    this.blocks = new Map();
    this.wanted = null;
    this.isLoading = false;
    this.isClosed = false;
    this.summaries = new Map();
    this.made = [];
    /** Told when there is something new to see. */
    this.onchange = () => {};
  }

  /** Rows that can be scrolled to. */
  get rowCount() {
    return this.count ?? this.first.length;
  }

  /** A row, or undefined while it is not here. */
  row(index) {
    if (!this.isWindowed) return this.shown[index];
    return this.blocks.get(Math.floor(index / BLOCK))?.[index % BLOCK];
  }

  get isWindowed() {
    return this.state === "kept" || this.state === "table";
  }

  /** Makes the rows beyond the first reachable, in the background. */
  async keep() {
    if (this.state !== "cut" || !isQuery(this.sql)) return;
    this.abort = new AbortController();
    this.state = "keeping";
    this.onchange();
    try {
      const table = bareTable(this.sql);
      if (table || !(await hasSession())) {
        const source = table ? { from: table, exprs: this.columns.map((column) => quoted(column.name)), hasRowid: false } : this.again();
        const [{ n }] = await ask(`SELECT count(*) AS n FROM ${source.from}`, { signal: this.abort.signal });
        this.source = source;
        this.arrive(Number(n), "table");
      } else {
        const { source, count } = await this.keptStatement(this.abort.signal);
        this.source = source;
        this.arrive(count, "kept");
      }
    } catch (error) {
      this.state = "cut";
      this.note = error.name === "AbortError" ? "stopped" : error.message;
    }
    this.onchange();
  }

  /** Ends what `keep` or an order does. */
  stop() {
    this.abort?.abort();
  }

  arrive(count, state) {
    this.count = count;
    this.state = state;
    this.blocks.clear();
    // The first rows stay to be seen until those of the table are here.
    for (let at = 0; at < this.first.length; at += BLOCK) this.blocks.set(at / BLOCK, this.first.slice(at, at + BLOCK));
    if (state === "kept") this.load([0, 1]);
  }

  /** The statement itself as a relation, which runs again for each question. */
  again() {
    const names = this.columns.map((_, index) => `c${index}`);
    return { from: `(\n${this.sql}\n) AS t(${names.join(", ")})`, exprs: names, hasRowid: false };
  }

  async keptStatement(signal) {
    const from = newTable();
    const names = this.columns.map((_, index) => `c${index}`);
    await query(`CREATE TEMP TABLE ${from} AS FROM (\n${this.sql}\n) AS t(${names.join(", ")})`, { signal });
    this.made.push(from);
    const [{ n }] = await ask(`SELECT count(*) AS n FROM ${from}`, { signal });
    return { source: { from, exprs: names, hasRowid: true }, count: Number(n) };
  }

  /** The rows as a relation: `from`, and the expressions of the columns in it. What came whole is given back to the engine and not computed again. */
  async relation(signal) {
    if (this.source) return this.source;
    if (!(await hasSession())) {
      if (!isQuery(this.sql)) throw new Error("this statement cannot be run again");
      return (this.source = this.again());
    }
    const isPlain = this.columns.every((column) => kindOf(column.type) !== "nested");
    if (this.state === "whole" && (isPlain || !isQuery(this.sql))) {
      try {
        return (this.source = await this.givenBack(signal));
      } catch (error) {
        if (error.name === "AbortError" || !isQuery(this.sql)) throw error;
      }
    }
    if (!isQuery(this.sql)) throw new Error("this statement cannot be run again, and only its first rows are here");
    const { source } = await this.keptStatement(signal);
    return (this.source = source);
  }

  async givenBack(signal) {
    const from = newTable();
    const types = this.columns.map((column) => (kindOf(column.type) === "nested" ? "VARCHAR" : column.type));
    const names = types.map((_, index) => `c${index}`);
    const cell = (value, index) => (value === null ? `NULL::${types[index]}` : `${literal(textOf(value))}::${types[index]}`);
    const rows = this.first.length
      ? `(VALUES ${this.first.map((row) => `(${row.map(cell).join(",")})`).join(",\n")})`
      : `(SELECT ${types.map((type) => `NULL::${type}`).join(", ")} LIMIT 0)`;
    await query(`CREATE TEMP TABLE ${from} AS FROM ${rows} AS t(${names.join(", ")})`, { signal });
    this.made.push(from);
    return { from, exprs: names, hasRowid: true };
  }

  /** Asks for rows; only the latest wish is fulfilled, since who scrolls on does not want the ones between. */
  need(from, to) {
    if (!this.isWindowed) return;
    const missing = [];
    for (let block = Math.floor(from / BLOCK); block <= Math.floor(Math.max(from, to - 1) / BLOCK); block++) {
      if (!this.blocks.has(block) && block * BLOCK < this.rowCount) missing.push(block);
    }
    if (missing.length) this.load(missing);
  }

  async load(blocks) {
    this.wanted = blocks;
    if (this.isLoading) return;
    this.isLoading = true;
    while (this.wanted && !this.isClosed) {
      const [block] = this.wanted;
      const count = (this.wanted.at(-1) - block + 1) * BLOCK;
      this.wanted = null;
      const order = this.order;
      try {
        const rows = await this.window(block * BLOCK, count);
        if (order !== this.order) continue;
        for (let at = 0; at < rows.length; at += BLOCK) this.blocks.set(block + at / BLOCK, rows.slice(at, at + BLOCK));
        this.forgetSome(block);
      } catch (error) {
        this.error = error;
      }
      this.onchange();
    }
    this.isLoading = false;
  }

  forgetSome(near) {
    if (this.blocks.size <= BLOCKS_MAX) return;
    const far = [...this.blocks.keys()].sort((a, b) => Math.abs(b - near) - Math.abs(a - near));
    for (const block of far.slice(0, this.blocks.size - BLOCKS_MAX)) this.blocks.delete(block);
  }

  async window(offset, count) {
    const { from, exprs, orderBy = "" } = this.sorted ?? this.source;
    return (await query(`SELECT ${exprs.join(", ")} FROM ${from}${orderBy} LIMIT ${count} OFFSET ${offset}`)).rows;
  }

  /** Rows for copying; undefined where more are wanted than a clipboard should hold. */
  async rowsBetween(from, to) {
    if (!this.isWindowed) return this.shown.slice(from, to);
    return this.window(from, to - from);
  }

  /** Sets the order: a column and a direction, or null for that of the statement. */
  async sort(order) {
    this.order = order;
    this.abort?.abort();
    if (!this.isWindowed) {
      const compare = order && comparator(this.columns[order.column].type, order.isDescending);
      this.shown = order ? [...this.first].sort((a, b) => compare(a[order.column], b[order.column])) : this.first;
      this.onchange();
      return;
    }
    this.sorted = null;
    this.blocks.clear();
    if (!order) {
      this.onchange();
      return;
    }
    const { from, exprs, hasRowid } = this.source;
    const orderBy = ` ORDER BY ${exprs[order.column]} ${order.isDescending ? "DESC" : "ASC"} NULLS LAST${hasRowid ? ", rowid" : ""}`;
    // The first window by a top-N, at once; all of it as a table of its own, so that windows further down cost no sort each.
    this.sorted = { from, exprs, orderBy };
    this.note = "sorting";
    this.onchange();
    await this.load([0]);
    if (!(await hasSession())) {
      this.note = "";
      this.onchange();
      return;
    }
    const table = newTable();
    this.abort = new AbortController();
    try {
      await query(`CREATE TEMP TABLE ${table} AS SELECT ${exprs.map((expr, index) => `${expr} AS c${index}`).join(", ")} FROM ${from}${orderBy}`, { signal: this.abort.signal });
      this.made.push(table);
      if (order === this.order) this.sorted = { from: table, exprs: exprs.map((_, index) => `c${index}`) };
      this.note = "";
    } catch (error) {
      if (order === this.order) this.note = error.name === "AbortError" ? "" : error.message;
    }
    this.onchange();
  }

  /** What a column has in it: counts, least, greatest, and bars. Asked once. */
  summary(index) {
    if (!this.summaries.has(index)) this.summaries.set(index, this.summarize(index));
    return this.summaries.get(index);
  }

  async summarize(index) {
    const { from, exprs } = await this.relation();
    const expr = exprs[index];
    const kind = kindOf(this.columns[index].type);
    const isRanged = kind === "number" || kind === "time";
    const place = kind === "time" ? `epoch(${expr})::DOUBLE` : `${expr}::DOUBLE`;
    const more = kind === "nested" ? "" : `, approx_count_distinct(${expr}) AS distinct_count, min(${expr})::VARCHAR AS least, max(${expr})::VARCHAR AS greatest`;
    const range = isRanged ? `, min(${place}) FILTER (WHERE isfinite(${place})) AS low, max(${place}) FILTER (WHERE isfinite(${place})) AS high` : "";
    const average = kind === "number" ? `, avg(${place})::VARCHAR AS average` : "";
    const [facts] = await ask(`SELECT count(*) AS n, count(${expr}) AS filled${more}${range}${average} FROM ${from}`);
    const out = { kind, type: this.columns[index].type, ...facts, bars: [], top: [] };
    if (isRanged && facts.low !== null) out.bars = await this.bars(from, expr, place, facts);
    if (kind === "text" || kind === "truth") {
      const rows = await query(`SELECT ${expr}::VARCHAR, count(*) FROM ${from} WHERE ${expr} IS NOT NULL GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 6`);
      out.top = rows.rows.map(([value, count]) => ({ text: value, count: Number(textOf(count)) }));
    }
    return out;
  }

  async bars(from, expr, place, facts) {
    const low = Number(facts.low), high = Number(facts.high);
    const { width, count, start } = binsOf(low, high, BINS, isInteger(facts.type ?? "") || (Number.isInteger(low) && Number.isInteger(high) && facts.distinct_count <= BINS));
    const { rows } = await query(
      `SELECT least(greatest(floor((${place} - ${start}::DOUBLE) / ${width}::DOUBLE), 0), ${count - 1})::INTEGER AS bin, count(*)
       FROM ${from} WHERE ${expr} IS NOT NULL AND isfinite(${place}) GROUP BY 1`);
    const bars = Array.from({ length: count }, (_, bin) => ({ from: start + bin * width, to: start + (bin + 1) * width, count: 0 }));
    for (const [bin, n] of rows) bars[Number(textOf(bin))].count = Number(textOf(n));
    return bars;
  }

  /** The statement by which all rows, in the order that is seen, are written into a file. */
  async wholeSql() {
    if (this.state === "cut" && isQuery(this.sql)) return this.sql;
    const source = this.sorted ?? await this.relation();
    const order = !this.isWindowed && this.order ? ` ORDER BY ${source.exprs[this.order.column]} ${this.order.isDescending ? "DESC" : "ASC"} NULLS LAST` : source.orderBy ?? "";
    return `SELECT ${source.exprs.map((expr, index) => `${expr} AS ${quoted(this.columns[index].name)}`).join(", ")} FROM ${source.from}${order}`;
  }

  async file(format) {
    return download(await this.wholeSql(), format);
  }

  /** Lets go of the temporary tables. */
  close() {
    this.isClosed = true;
    this.stop();
    for (const table of this.made.splice(0)) query(`DROP TABLE IF EXISTS ${table}`).catch(() => {});
  }
}

/** Bins of equal width over a range; of whole numbers each has its own where they are few. */
export function binsOf(low, high, countMax, isWhole) {
  if (isWhole && high - low < countMax) return { start: low - 0.5, width: 1, count: high - low + 1 };
  if (high === low) return { start: low - 0.5, width: 1, count: 1 };
  return { start: low, width: (high - low) / countMax, count: countMax };
}
