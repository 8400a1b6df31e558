// The grid: as many rows as the engine has, of which those in sight are in the document.
//
// A browser's elements end at some million pixels, so ten million rows cannot have their true height. Up to HEIGHT_MAX they have it; beyond, the
// scrollbar is a scale: small movements (wheel, touch, arrows) move by rows, large ones (the bar is dragged) by the share of the whole.
import { announce, counted, h, svg } from "./dom.js";
import { kindOf, shownOf, textOf, tsvOf } from "./values.js";

const HEIGHT_MAX = 6_000_000;
const WIDTH_MIN = 64, WIDTH_MAX = 340, SUMMARY_WIDTH = 148;
/** Cells that are copied at most; more belongs into a file. */
const COPIED_MAX = 500_000;
let gridCount = 0;

export class Grid {
  /** `on.menu(column, anchor)` and `on.detail(row, column)` are asked for from here. */
  constructor(on) {
    this.on = on;
    this.name = `grid${++gridCount}`;
    this.head = h("div.grid-head", { role: "row", "aria-rowindex": "1" });
    this.body = h("div.grid-body", { role: "rowgroup" });
    this.canvas = h("div.grid-canvas", {}, this.head, this.body);
    this.element = h("div.grid", {
      role: "grid", tabIndex: 0, "aria-label": "Result",
      onscroll: () => this.scrolled(), onkeydown: (event) => this.key(event), onwheel: (event) => this.wheel(event),
      onpointerdown: (event) => this.pressed(event), onpointermove: (event) => this.moved(event), onpointerup: () => { this.isDragging = false; },
      ondblclick: (event) => { const at = this.placeOf(event.target); if (at && at.row >= 0) this.on.detail(at.row, at.column); },
      oncopy: (event) => { event.preventDefault(); this.copy(); },
      onscrollend: () => this.settle(),
    }, this.canvas);
    new ResizeObserver(() => this.result && this.layout()).observe(this.element);
    this.showsSummaries = false;
  }

  /** Shows a result from its first row. */
  show(result) {
    this.remember();
    this.result = result;
    const { top = 0, left = 0, cursor = { row: 0, column: 0 }, anchor = cursor, widths = this.guessWidths() } = result.seen ?? {};
    Object.assign(this, { cursor, anchor, widths });
    this.widenForSummaries();
    this.comeBack(top, left);
  }

  /** Before something else is shown. */
  remember() {
    if (this.result) this.result.seen = { top: this.top, left: this.left, cursor: this.cursor, anchor: this.anchor, widths: this.widths };
  }

  /** An element that was taken out of the document has forgotten where it was scrolled to. */
  comeBack(top = this.top, left = this.left) {
    this.top = 0;
    this.layout();
    this.element.scrollLeft = this.left = left;
    this.isOwnScroll = this.isScaled;
    this.lastScroll = 0;
    this.goTo(top);
  }

  /** Draws again after rows came. */
  refresh() {
    if (this.result) this.layout();
  }

  toggleSummaries(isOn) {
    this.showsSummaries = isOn;
    this.widenForSummaries();
    this.layout();
  }

  guessWidths() {
    const brush = document.createElement("canvas").getContext("2d");
    brush.font = getComputedStyle(this.element).font || "12.5px monospace";
    const letter = brush.measureText("0".repeat(50)).width / 50;
    return this.result.columns.map((column, index) => {
      let longest = Math.max(column.name.length + 2, Math.min(column.type.length * 0.85, 18));
      for (let row = 0; row < Math.min(100, this.result.first.length); row++) longest = Math.max(longest, Math.min(60, shownOf(this.result.first[row][index]).length));
      return Math.round(Math.min(WIDTH_MAX, Math.max(WIDTH_MIN, longest * letter + 22)));
    });
  }

  /** A distribution and its words need some room. */
  widenForSummaries() {
    if (this.showsSummaries) this.widths = this.widths.map((width) => Math.max(width, SUMMARY_WIDTH));
  }

  layout() {
    const { result } = this;
    this.rowHeight = matchMedia("(pointer: coarse)").matches ? 34 : 27;
    this.headHeight = this.showsSummaries ? 96 : 46;
    this.gutter = Math.max(46, String(result.rowCount).length * 8 + 22);
    this.lefts = [];
    let left = this.gutter;
    for (const width of this.widths) {
      this.lefts.push(left);
      left += width;
    }
    this.width = left;
    this.trueHeight = result.rowCount * this.rowHeight;
    this.height = Math.min(this.trueHeight, HEIGHT_MAX);
    this.isScaled = this.trueHeight > HEIGHT_MAX;
    this.canvas.style.width = `${this.width}px`;
    this.canvas.style.height = `${this.height + this.headHeight}px`;
    this.head.style.height = this.body.style.top = `${this.headHeight}px`;
    this.element.setAttribute("aria-rowcount", result.rowCount + 1);
    this.element.setAttribute("aria-colcount", result.columns.length);
    this.draw();
  }

  /** Rows that fit, as a fraction. */
  get fitting() {
    return Math.max(1, (this.element.clientHeight - this.headHeight) / this.rowHeight);
  }

  get topMax() {
    return Math.max(0, this.result.rowCount - this.fitting);
  }

  scrolled() {
    const { scrollTop, clientHeight, scrollHeight } = this.element;
    this.left = this.element.scrollLeft;
    if (!this.isScaled) this.top = scrollTop / this.rowHeight;
    else if (!this.isOwnScroll) {
      const moved = scrollTop - this.lastScroll;
      const range = scrollHeight - clientHeight;
      if (scrollTop <= 0) this.top = 0;
      else if (scrollTop >= range - 1) this.top = this.topMax;
      else if (Math.abs(moved) < clientHeight) this.top = Math.min(this.topMax, Math.max(0, this.top + moved / this.rowHeight));
      else this.top = (scrollTop / range) * this.topMax;
    }
    this.isOwnScroll = false;
    this.lastScroll = scrollTop;
    this.draw();
  }

  /** After movements by rows the bar is put to where it belongs. */
  settle() {
    if (!this.isScaled || !this.result) return;
    const { clientHeight, scrollHeight, scrollTop } = this.element;
    const at = Math.round((this.top / this.topMax) * (scrollHeight - clientHeight));
    if (Math.abs(at - scrollTop) < 1) return;
    this.isOwnScroll = true;
    this.element.scrollTop = at;
    this.lastScroll = this.element.scrollTop;
  }

  wheel(event) {
    if (!this.isScaled || event.ctrlKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) return;
    event.preventDefault();
    const unit = event.deltaMode === 1 ? 3 : event.deltaMode === 2 ? this.fitting : 1 / this.rowHeight;
    this.goTo(this.top + event.deltaY * unit);
  }

  /** Moves so that a row, or a part of it, is the first in sight. */
  goTo(top) {
    this.top = Math.min(this.topMax, Math.max(0, top));
    if (this.isScaled) {
      this.settle();
      this.draw();
    } else {
      this.element.scrollTop = this.top * this.rowHeight;
      this.top = this.element.scrollTop / this.rowHeight;
      this.draw();
    }
  }

  visibleColumns() {
    const from = this.element.scrollLeft, to = from + this.element.clientWidth;
    const out = [];
    for (let column = 0; column < this.widths.length; column++) {
      if (this.lefts[column] + this.widths[column] > from && this.lefts[column] < to) out.push(column);
    }
    return out;
  }

  draw() {
    const { result } = this;
    if (!result || !this.element.clientHeight) return;
    const columns = this.visibleColumns();
    this.drawHead(columns);
    const first = Math.floor(this.top);
    const last = Math.min(result.rowCount, Math.ceil(this.top + this.fitting));
    const chosen = this.range();
    const rows = [];
    for (let row = first; row < last; row++) rows.push(this.drawRow(row, columns, chosen));
    this.body.replaceChildren(...rows);
    this.element.setAttribute("aria-activedescendant", `${this.name}-${this.cursor.row}-${this.cursor.column}`);
    result.need(Math.max(0, first - 60), Math.min(result.rowCount, last + 60));
  }

  drawRow(row, columns, chosen) {
    const values = this.result.row(row);
    const cells = columns.map((column) => {
      const value = values?.[column];
      const isCursor = row === this.cursor.row && column === this.cursor.column;
      const isChosen = row >= chosen.top && row <= chosen.bottom && column >= chosen.left && column <= chosen.right;
      const kind = kindOf(this.result.columns[column].type);
      const classes = ["cell", values === undefined && "waiting", kind === "number" && "number", value === null && "null", isChosen && "chosen", isCursor && "cursor"].filter(Boolean);
      const cell = h("div", { id: `${this.name}-${row}-${column}`, role: "gridcell", "aria-colindex": column + 1, "aria-selected": String(isChosen), data: { row, column } },
        value === undefined ? "" : shownOf(value));
      cell.className = classes.join(" ");
      cell.style.left = `${this.lefts[column]}px`;
      cell.style.width = `${this.widths[column]}px`;
      return cell;
    });
    const element = h("div.grid-row", { role: "row", "aria-rowindex": row + 2 },
      h("div.gutter", { role: "rowheader", style: { width: `${this.gutter}px` } }, counted(row + 1)), ...cells);
    if (row % 2) element.classList.add("odd");
    element.style.top = `${(row - this.top) * this.rowHeight}px`;
    element.style.height = `${this.rowHeight}px`;
    return element;
  }

  /** Shows what is selected in the cells that are there: they must stay the same ones for a double click. */
  mark() {
    const { top, bottom, left, right } = this.range();
    for (const cell of this.body.querySelectorAll(".cell")) {
      const row = Number(cell.dataset.row), column = Number(cell.dataset.column);
      const isChosen = row >= top && row <= bottom && column >= left && column <= right;
      cell.classList.toggle("chosen", isChosen);
      cell.classList.toggle("cursor", row === this.cursor.row && column === this.cursor.column);
      cell.setAttribute("aria-selected", String(isChosen));
    }
    this.head.querySelector(".cursor")?.classList.remove("cursor");
    this.element.setAttribute("aria-activedescendant", `${this.name}-${this.cursor.row}-${this.cursor.column}`);
  }

  drawHead(columns) {
    const { order } = this.result;
    const cells = columns.map((column) => {
      const { name, type } = this.result.columns[column];
      const isSorted = order?.column === column;
      const arrow = isSorted ? (order.isDescending ? " ↓" : " ↑") : "";
      const cell = h("div.head-cell", {
        id: `${this.name}--1-${column}`, role: "columnheader", "aria-colindex": column + 1, data: { row: -1, column },
        "aria-sort": isSorted ? (order.isDescending ? "descending" : "ascending") : "none", title: `${name} ${type}`,
      }, h("div.head-name", {}, h("span.head-text", {}, name), h("span.head-arrow", {}, arrow)), h("div.head-type", {}, type.toLowerCase()),
      this.showsSummaries ? this.drawSummary(column) : null, h("div.resizer", { data: { resize: column }, "aria-hidden": "true" }));
      if (kindOf(type) === "number") cell.classList.add("number");
      if (this.cursor.row === -1 && this.cursor.column === column) cell.classList.add("cursor");
      cell.style.left = `${this.lefts[column]}px`;
      cell.style.width = `${this.widths[column]}px`;
      return cell;
    });
    this.head.replaceChildren(h("div.gutter.corner", { role: "columnheader", "aria-label": "Row", style: { width: `${this.gutter}px` } }), ...cells);
  }

  drawSummary(column) {
    const place = h("div.head-summary");
    const known = this.result.known?.get(column);
    if (known) place.append(...summaryPicture(known, this.widths[column] - 16));
    else {
      this.askSummary(this.result, column);
      place.classList.add("waiting");
    }
    return place;
  }

  /** Asks for a summary once, however often its place is drawn meanwhile. */
  async askSummary(result, column) {
    result.known ??= new Map();
    if (result.known.has(column)) return;
    result.known.set(column, null);
    try {
      result.known.set(column, await result.summary(column));
    } catch (error) {
      result.known.set(column, { error: error.message });
    }
    if (this.result === result && this.showsSummaries) this.draw();
  }

  range() {
    const { anchor, cursor } = this;
    return { top: Math.min(anchor.row, cursor.row), bottom: Math.max(anchor.row, cursor.row), left: Math.min(anchor.column, cursor.column), right: Math.max(anchor.column, cursor.column) };
  }

  placeOf(target) {
    const cell = target.closest?.("[data-column]");
    return cell ? { row: Number(cell.dataset.row), column: Number(cell.dataset.column) } : null;
  }

  pressed(event) {
    if (event.button !== 0) return;
    const handle = event.target.dataset?.resize;
    if (handle !== undefined) return this.resize(event, Number(handle));
    const at = this.placeOf(event.target);
    if (!at) return;
    if (at.row === -1) {
      this.cursor = this.anchor = at;
      this.draw();
      event.preventDefault();
      this.element.focus();
      return this.on.menu(at.column, document.getElementById(`${this.name}--1-${at.column}`));
    }
    this.cursor = at;
    if (!event.shiftKey) this.anchor = at;
    this.isDragging = event.pointerType === "mouse";
    this.mark();
  }

  moved(event) {
    if (!this.isDragging) return;
    const at = this.placeOf(document.elementFromPoint(event.clientX, event.clientY) ?? this.element);
    if (at && at.row >= 0 && (at.row !== this.cursor.row || at.column !== this.cursor.column)) {
      this.cursor = at;
      this.mark();
    }
  }

  resize(event, column) {
    event.preventDefault();
    const from = event.clientX, width = this.widths[column];
    const move = (now) => { this.widths[column] = Math.max(40, width + now.clientX - from); this.layout(); };
    const end = () => { removeEventListener("pointermove", move); removeEventListener("pointerup", end); };
    addEventListener("pointermove", move);
    addEventListener("pointerup", end);
  }

  key(event) {
    const { result } = this;
    if (!result) return;
    const isAll = event.ctrlKey || event.metaKey;
    const rowMax = result.rowCount - 1, columnMax = result.columns.length - 1;
    const page = Math.max(1, Math.floor(this.fitting) - 1);
    let { row, column } = this.cursor;
    const moves = {
      ArrowDown: () => { row = isAll ? rowMax : row + 1; }, ArrowUp: () => { row = isAll ? 0 : row - 1; },
      ArrowRight: () => { column = isAll ? columnMax : column + 1; }, ArrowLeft: () => { column = isAll ? 0 : column - 1; },
      PageDown: () => { row += page; }, PageUp: () => { row = Math.max(0, row - page); },
      Home: () => { column = 0; if (isAll) row = 0; }, End: () => { column = columnMax; if (isAll) row = rowMax; },
    };
    if (isAll && event.key.toLowerCase() === "a") {
      this.anchor = { row: 0, column: 0 };
      this.cursor = { row: rowMax, column: columnMax };
      announce(`all ${counted(result.rowCount)} rows are selected`);
    } else if (isAll && event.key.toLowerCase() === "c") {
      this.copy(event.shiftKey);
    } else if (event.key === "Enter" || event.key === " ") {
      if (row === -1) this.on.menu(column, document.getElementById(`${this.name}--1-${column}`));
      else this.on.detail(row, column);
    } else if (moves[event.key] && !event.altKey) {
      moves[event.key]();
      this.cursor = { row: Math.min(rowMax, Math.max(-1, row)), column: Math.min(columnMax, Math.max(0, column)) };
      if (!event.shiftKey || this.cursor.row === -1) this.anchor = this.cursor;
      this.reveal();
    } else return;
    event.preventDefault();
    this.draw();
  }

  /** Scrolls until the cursor is in sight. */
  reveal() {
    const { row, column } = this.cursor;
    if (row >= 0 && row < this.top) this.goTo(row);
    else if (row > this.top + this.fitting - 1) this.goTo(row - this.fitting + 1);
    const left = this.lefts[column], right = left + this.widths[column];
    if (left - this.gutter < this.element.scrollLeft) this.element.scrollLeft = left - this.gutter;
    else if (right > this.element.scrollLeft + this.element.clientWidth) this.element.scrollLeft = right - this.element.clientWidth;
  }

  /** Copies what is selected, as spreadsheets take it. */
  async copy(hasNames = false) {
    const { top, bottom, left, right } = this.range();
    const names = this.result.columns.slice(left, right + 1).map((column) => tsvOf(column.name)).join("\t");
    if (top === -1) return this.write(names, "names are copied");
    const cells = (bottom - top + 1) * (right - left + 1);
    if (cells > COPIED_MAX) return announce(`${counted(cells)} cells are too many to copy: download them`), this.on.said(`${counted(cells)} cells are too many to copy; download them instead`);
    const rows = await this.result.rowsBetween(top, bottom + 1);
    const isOne = cells === 1;
    const lines = rows.map((row) => row.slice(left, right + 1).map((value) => (isOne && value !== null ? textOf(value) : tsvOf(value))).join("\t"));
    return this.write([...(hasNames ? [names] : []), ...lines].join("\n"), cells === 1 ? "1 cell copied" : `${counted(cells)} cells copied`);
  }

  async write(text, said) {
    await navigator.clipboard.writeText(text);
    this.on.said(said);
  }
}

/** A column in small: bars or shares, and a line of words. */
export function summaryPicture(facts, width, height = 26) {
  if (facts.error) return [h("div.summary-words", { title: facts.error }, "no summary")];
  const nulls = facts.n ? (facts.n - facts.filled) / facts.n : 0;
  const words = [nulls > 0 && `${nulls < 0.01 ? "<1" : Math.round(nulls * 100)} % null`, facts.distinct_count !== undefined && `${short(facts.distinct_count)} distinct`].filter(Boolean).join(" · ");
  const picture = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `distribution: ${words}` });
  const bars = facts.bars.length ? facts.bars : facts.top;
  const most = Math.max(1, ...bars.map((bar) => bar.count));
  if (facts.bars.length) {
    const step = width / bars.length;
    bars.forEach((bar, index) => {
      const tall = bar.count ? Math.max(1.5, (bar.count / most) * height) : 0;
      picture.append(svg("rect", { x: index * step, y: height - tall, width: Math.max(1, step - 1), height: tall, class: "spark" }));
    });
  } else {
    // Shares of the most frequent values, side by side.
    let left = 0;
    bars.forEach((bar, index) => {
      const wide = (bar.count / Math.max(1, facts.filled)) * width;
      picture.append(svg("rect", { x: left, y: 4, width: Math.max(0, wide - 1), height: height - 8, class: `spark share${index % 3}` }));
      left += wide;
    });
    if (left < width - 0.5 && facts.filled) picture.append(svg("rect", { x: left, y: 4, width: width - left, height: height - 8, class: "spark rest" }));
  }
  return [picture, h("div.summary-words", { title: words }, words || " ")];
}

function short(count) {
  if (count < 1000) return String(count);
  return count < 1e6 ? `${Number((count / 1e3).toPrecision(3))} k` : `${Number((count / 1e6).toPrecision(3))} M`;
}

