// Charts as SVG: axes, marks, and what is under the pointer. Colours are classes of style.css, so that they follow light and dark.
import { counted, h, svg } from "./dom.js";

const MARGIN = { top: 14, right: 18, bottom: 44, left: 64 };
const SECOND = 1, MINUTE = 60, HOUR = 3600, DAY = 86400;
const STEPS = [SECOND, 5, 15, 30, MINUTE, 300, 900, 1800, HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY, 2 * DAY, 7 * DAY];
const exact = new Intl.NumberFormat("en-US", { maximumSignificantDigits: 12 });
const compact = new Intl.NumberFormat("en-US", { notation: "compact", maximumFractionDigits: 2 });

/** Round numbers between two. */
export function ticks(low, high, wanted) {
  const raw = (high - low) / Math.max(1, wanted);
  if (!(raw > 0)) return [low];
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].find((factor) => factor * power >= raw) * power;
  const out = [];
  for (let at = Math.ceil(low / step - 1e-9); at * step <= high + step * 1e-9; at++) out.push(at * step);
  return out;
}

function timeTicks(low, high, wanted) {
  const raw = (high - low) / Math.max(1, wanted);
  const step = STEPS.find((one) => one >= raw);
  if (step) {
    const out = [];
    for (let at = Math.ceil(low / step) * step; at <= high; at += step) out.push(at);
    return { at: out, label: (s) => timeLabel(s, step) };
  }
  const months = [1, 2, 3, 6, 12, 24, 60, 120, 240, 600, 1200].find((one) => one * 30.4 * DAY >= raw) ?? 2400;
  const out = [];
  const first = new Date(low * 1000);
  for (let month = Math.floor((first.getUTCFullYear() * 12 + first.getUTCMonth()) / months) * months; ; month += months) {
    const at = Date.UTC(Math.floor(month / 12), month % 12, 1) / 1000;
    if (at > high || out.length > 40) break;
    if (at >= low) out.push(at);
  }
  return { at: out, label: (s) => new Date(s * 1000).toISOString().slice(0, months >= 12 ? 4 : 7) };
}

function timeLabel(seconds, step) {
  const iso = new Date(seconds * 1000).toISOString();
  if (step >= DAY) return iso.slice(0, 10);
  return iso.slice(11, 16) === "00:00" && step >= MINUTE ? iso.slice(5, 10) : iso.slice(11, step < MINUTE ? 19 : 16);
}

const shortened = (value) => exact.format(Number(value.toPrecision(7)));
const round = (value) => (Math.abs(value) >= 10000 ? compact.format(value) : exact.format(Number(value.toPrecision(6))));

function shownX(model, x) {
  if (model.xKind === "band") return model.labels[x];
  if (model.type === "bins") {
    const [from, to] = [model.start + x * model.width, model.start + (x + 1) * model.width];
    if (model.xKind !== "time" && model.width === 1 && from % 1 !== 0) return exact.format(from + 0.5);
    return `${shownPlace(model, from)} to ${shownPlace(model, to)}`;
  }
  return shownPlace(model, x);
}

const shownPlace = (model, x) => (model.xKind === "time" ? new Date(x * 1000).toISOString().replace("T", " ").replace(/(?: 00:00:00)?\.000Z$/, "") : exact.format(Number(x.toPrecision(9))));

/** Draws into an element, in its size. */
export function drawChart(place, model) {
  const width = place.clientWidth, height = place.clientHeight;
  if (width < 80 || height < 80) return;
  const inner = { left: MARGIN.left, top: MARGIN.top + (model.series.length > 1 ? 22 : 0), right: width - MARGIN.right, bottom: height - MARGIN.bottom };
  const scales = scalesOf(model, inner);
  const root = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${model.type} chart of ${model.yTitle} by ${model.xTitle}: ${model.words}` });
  root.append(axes(model, scales, inner), marks(model, scales, inner));
  const tip = h("div.tip", { hidden: true });
  const hover = svg("g", { class: "hover" });
  root.append(hover);
  const targets = targetsOf(model, scales);
  let at = -1;
  const show = (index) => {
    at = index;
    hover.replaceChildren();
    tip.hidden = index < 0;
    if (index < 0) return;
    const target = targets[index];
    if (model.type === "line") hover.append(svg("line", { x1: target.px, x2: target.px, y1: inner.top, y2: inner.bottom, class: "cross" }));
    for (const { py, series } of target.dots) if (py !== null && model.type !== "cloud") hover.append(svg("circle", { cx: target.px, cy: py, r: 4, class: `dot s${series}` }));
    tip.replaceChildren(h("b", {}, target.title), ...target.lines.map(({ name, text, series }) => h("div", {}, h(`span.swatch.s${series}`), `${name} `, h("span.tip-number", {}, text))));
    tip.style.left = `${Math.min(width - tip.offsetWidth - 4, Math.max(4, target.px + 12 + (target.px > width * 0.7 ? -tip.offsetWidth - 24 : 0)))}px`;
    tip.style.top = `${Math.max(4, Math.min(height - tip.offsetHeight - 4, Math.min(...target.dots.map((dot) => dot.py ?? inner.bottom)) - 12))}px`;
  };
  const layer = h("div.chart-layer", {
    tabIndex: 0, role: "application", "aria-label": "Points of the chart, by left and right arrow",
    onpointermove: (event) => { const box = layer.getBoundingClientRect(); show(nearest(targets, event.clientX - box.left, event.clientY - box.top, model)); },
    onpointerleave: () => show(-1), onblur: () => show(-1),
    onkeydown: (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1, Home: -Infinity, End: Infinity }[event.key];
      if (step === undefined || !targets.length) return;
      event.preventDefault();
      show(Math.min(targets.length - 1, Math.max(0, at + step)));
      layer.setAttribute("aria-label", [targets[at].title, ...targets[at].lines.map(({ name, text }) => `${name} ${text}`)].join(", "));
    },
  }, root, tip);
  place.replaceChildren(layer);
  if (model.series.length > 1) place.append(h("div.legend", {}, ...model.series.map(({ name }, index) => h("span", {}, h(`span.swatch.s${index % 6}`), name))));
}

function scalesOf(model, inner) {
  const points = model.series.flatMap((one) => one.points);
  const xs = points.map((point) => point.x);
  let [x0, x1] = model.xRange ?? [Math.min(...xs), Math.max(...xs)];
  if (model.xKind === "band") [x0, x1] = [-0.5, model.labels.length - 0.5];
  if (model.type === "bins") [x0, x1] = [model.start, model.start + model.width * model.count];
  if (x0 === x1) [x0, x1] = [x0 - 0.5, x1 + 0.5];
  const ys = points.flatMap((point) => [point.y, point.low ?? point.y, point.high ?? point.y]).filter((y) => y !== null && Number.isFinite(y));
  let [y0, y1] = model.yRange ?? [Math.min(...ys), Math.max(...ys)];
  const isBar = model.type === "bar" || model.type === "bins";
  if (isBar || (y0 > 0 && y0 < y1 * 0.4)) y0 = Math.min(0, y0);
  if (isBar) y1 = Math.max(0, y1);
  if (!(y1 > y0)) [y0, y1] = [y0 - 1, y1 + 1];
  const pad = (y1 - y0) * 0.06;
  if (y1 !== 0) y1 += pad;
  if (y0 !== 0) y0 -= pad;
  if (model.type === "scatter") { const side = (x1 - x0) * 0.02; x0 -= side; x1 += side; }
  if (model.type === "cloud") [y0, y1] = model.yRange[0] === model.yRange[1] ? [y0, y1] : model.yRange;
  return { x0, x1, y0, y1, x: (value) => inner.left + ((value - x0) / (x1 - x0)) * (inner.right - inner.left), y: (value) => inner.bottom - ((value - y0) / (y1 - y0)) * (inner.bottom - inner.top) };
}

function axes(model, scales, inner) {
  const group = svg("g", { class: "axes" });
  for (const y of ticks(scales.y0, scales.y1, (inner.bottom - inner.top) / 44)) {
    const at = scales.y(y);
    group.append(svg("line", { x1: inner.left, x2: inner.right, y1: at, y2: at, class: y === 0 ? "zero" : "rule" }), svg("text", { x: inner.left - 8, y: at + 4, "text-anchor": "end" }, round(y)));
  }
  const room = inner.right - inner.left;
  if (model.xKind === "band") bandTicks(group, model, scales, inner, room);
  else {
    const time = model.xKind === "time" ? timeTicks(scales.x0, scales.x1, room / 110) : null;
    for (const x of time?.at ?? ticks(scales.x0, scales.x1, room / 90)) {
      const at = scales.x(x);
      group.append(svg("line", { x1: at, x2: at, y1: inner.bottom, y2: inner.bottom + 4, class: "tick" }), svg("text", { x: at, y: inner.bottom + 17, "text-anchor": "middle" }, time ? time.label(x) : round(x)));
    }
  }
  group.append(svg("line", { x1: inner.left, x2: inner.right, y1: inner.bottom, y2: inner.bottom, class: "axis" }));
  group.append(svg("text", { x: (inner.left + inner.right) / 2, y: inner.bottom + 36, "text-anchor": "middle", class: "axis-title" }, model.xTitle));
  group.append(svg("text", { x: -(inner.top + inner.bottom) / 2, y: 14, transform: "rotate(-90)", "text-anchor": "middle", class: "axis-title" }, model.yTitle));
  return group;
}

function bandTicks(group, model, scales, inner, room) {
  const band = room / model.labels.length;
  const letters = Math.max(...model.labels.map((label) => label.length));
  const every = Math.max(1, Math.ceil((Math.min(letters, 12) * 6.6 + 8) / band));
  const fits = Math.max(3, Math.floor((band * every - 6) / 6.4));
  model.labels.forEach((label, index) => {
    if (index % every) return;
    group.append(svg("text", { x: scales.x(index), y: inner.bottom + 17, "text-anchor": "middle" }, label.length > fits ? `${label.slice(0, fits - 1)}…` : label));
  });
}

function marks(model, scales, inner) {
  const group = svg("g");
  if (model.type === "cloud") {
    const most = Math.max(...model.cells.map((cell) => cell[2]));
    const wide = (inner.right - inner.left) / model.size.x, tall = (inner.bottom - inner.top) / model.size.y;
    for (const [x, y, n] of model.cells) {
      group.append(svg("rect", { x: inner.left + x * wide, y: inner.bottom - (y + 1) * tall, width: wide, height: tall, class: "cloud s0", "fill-opacity": (0.14 + 0.86 * Math.sqrt(n / most)).toFixed(3) }));
    }
    return group;
  }
  model.series.forEach(({ points }, index) => {
    const s = `s${index % 6}`;
    if (model.type === "line") {
      if (points.some((point) => point.low !== null && point.low !== undefined)) {
        const area = [...points.map((p) => `${scales.x(p.x)},${scales.y(p.high)}`), ...points.toReversed().map((p) => `${scales.x(p.x)},${scales.y(p.low)}`)].join(" ");
        group.append(svg("polygon", { points: area, class: `band ${s}` }));
      }
      let d = "", isOpen = false;
      for (const { x, y } of points) {
        if (y === null || !Number.isFinite(y)) { isOpen = false; continue; }
        d += `${isOpen ? "L" : "M"}${scales.x(x).toFixed(1)} ${scales.y(y).toFixed(1)}`;
        isOpen = true;
      }
      group.append(svg("path", { d, class: `line ${s}` }));
      if (points.length === 1) group.append(svg("circle", { cx: scales.x(points[0].x), cy: scales.y(points[0].y ?? 0), r: 3, class: `dot ${s}` }));
    } else if (model.type === "scatter") {
      for (const { x, y } of points) group.append(svg("circle", { cx: scales.x(x), cy: scales.y(y), r: points.length > 800 ? 2 : 3.2, class: `point ${s}` }));
    } else {
      const { width, left } = barPlace(model, scales, index);
      for (const { x, y } of points) {
        if (y === null) continue;
        const top = scales.y(Math.max(0, y)), bottom = scales.y(Math.min(0, y));
        group.append(svg("rect", { x: left(x), y: top, width, height: Math.max(y === 0 ? 0 : 1, bottom - top), class: `mark ${s}`, rx: Math.min(2, width / 4) }));
      }
    }
  });
  return group;
}

function barPlace(model, scales, index) {
  const isBand = model.xKind === "band" && model.type === "bar";
  const band = isBand ? scales.x(1) - scales.x(0) : scales.x(model.start + model.width) - scales.x(model.start);
  const used = band * (isBand ? 0.76 : 1) - (isBand ? 0 : Math.min(1.5, band * 0.15));
  const width = Math.min(isBand ? 90 : Infinity, used) / model.series.length;
  const start = (x) => (isBand ? scales.x(x) - (width * model.series.length) / 2 : scales.x(model.start + x * model.width));
  return { width: Math.max(0.5, width - (model.series.length > 1 ? 1 : 0)), left: (x) => start(x) + index * width };
}

/** What the pointer or the arrow keys can be at, from left to right. */
function targetsOf(model, scales) {
  const out = new Map();
  if (model.type === "cloud") return [];
  model.series.forEach(({ name, points }, index) => {
    for (const [place, point] of points.entries()) {
      const key = model.type === "scatter" ? `${index}-${place}` : point.x;
      let px = scales.x(point.x);
      if (model.type === "bins") px = scales.x(model.start + (point.x + 0.5) * model.width);
      const target = out.get(key) ?? { px, title: `${model.xTitle}: ${shownX(model, point.x)}`, dots: [], lines: [] };
      const py = point.y === null ? null : scales.y(point.y);
      target.dots.push({ py, series: index % 6 });
      const range = point.low !== null && point.low !== undefined ? ` (${shortened(point.low)} to ${shortened(point.high)})` : "";
      target.lines.push({ name, series: index % 6, text: (point.y === null ? "NULL" : Number.isInteger(point.y) ? counted(point.y) : shortened(point.y)) + range });
      out.set(key, target);
    }
  });
  return [...out.values()].sort((a, b) => a.px - b.px);
}

function nearest(targets, x, y, model) {
  let best = -1, least = Infinity;
  targets.forEach((target, index) => {
    const dx = target.px - x;
    const dy = model.type === "scatter" ? (target.dots[0].py ?? 0) - y : 0;
    const far = dx * dx + dy * dy;
    if (far < least) [best, least] = [index, far];
  });
  return model.type === "scatter" && least > 900 ? -1 : best;
}
