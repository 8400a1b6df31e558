// Elements. Styles are set as properties and never as attributes, since the Content-Security-Policy allows no inline styles.

/** `h("button.primary", { onclick, title }, "Run")`: an element with classes, properties, attributes (names with a dash, role, for) and children. */
export function h(what, props = {}, ...children) {
  const [tag, ...classes] = what.split(".");
  return fill(document.createElement(tag), classes, props, children);
}

/** The same for SVG, where everything is an attribute but handlers. */
export function svg(tag, props = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === null || value === undefined) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

function fill(element, classes, props, children) {
  if (classes.length) element.classList.add(...classes);
  for (const [name, value] of Object.entries(props)) {
    if (value === null || value === undefined) continue;
    if (name === "style") Object.assign(element.style, value);
    else if (name === "data") Object.assign(element.dataset, value);
    else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name.includes("-") || name === "role" || name === "for" || name === "list") element.setAttribute(name, value);
    else element[name] = value;
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

const SHAPES = {
  play: ["M5 3.2v9.6L13 8z", true],
  stop: ["M4 4h8v8H4z", true],
  plus: ["M8 3v10M3 8h10"],
  close: ["M4 4l8 8M12 4l-8 8"],
  table: ["M2.5 3.5h11v9h-11zM2.5 6.5h11M6.5 6.5v6"],
  view: ["M1.5 8S4 3.8 8 3.8 14.5 8 14.5 8 12 12.2 8 12.2 1.5 8 1.5 8zM8 6.2a1.8 1.8 0 100 3.6 1.8 1.8 0 000-3.6z"],
  database: ["M3 4.2c0-1.2 2.2-2 5-2s5 .8 5 2v7.6c0 1.2-2.2 2-5 2s-5-.8-5-2zM3 4.2c0 1.2 2.2 2 5 2s5-.8 5-2M3 8c0 1.2 2.2 2 5 2s5-.8 5-2"],
  right: ["M6 3.5L10.5 8 6 12.5"],
  history: ["M8 4.5V8l2.5 1.5M2.5 8A5.5 5.5 0 108 2.5 5.6 5.6 0 003.7 4.6M3.2 2.2v2.6h2.6"],
  star: ["M8 2.2l1.8 3.6 4 .6-2.9 2.8.7 4L8 11.3l-3.6 1.9.7-4L2.2 6.4l4-.6z"],
  function: ["M11.5 3.2c-2-.8-2.9.3-3.2 2L6.8 11c-.4 1.9-1.4 2.6-3.2 1.9M5 6.8h6"],
  running: ["M1.5 8h3l1.8-4.5 3 9L11.3 8h3.2"],
  menu: ["M2.5 4.5h11M2.5 8h11M2.5 11.5h11"],
  moon: ["M13 9.6A5.6 5.6 0 016.4 3a5.6 5.6 0 106.6 6.6z"],
  download: ["M8 2.5v7.5M4.8 7L8 10.2 11.2 7M3 13.3h10"],
  copy: ["M5.5 5.5h8v8h-8zM3.5 10.5h-1v-8h8v1"],
  more: ["M3.5 8h.01M8 8h.01M12.5 8h.01"],
  search: ["M7 2.5a4.5 4.5 0 100 9 4.5 4.5 0 000-9zM10.3 10.3l3.2 3.2"],
  refresh: ["M13.5 3v3.5H10M13 6.5A5.4 5.4 0 108 13.4a5.4 5.4 0 005-3.4"],
  chart: ["M2.5 2.5v11h11M5 10l2.5-3.5L10 8.5l3-4.5"],
  plan: ["M5.5 2.5h5v3h-5zM2 10.5h5v3H2zM9 10.5h5v3H9zM8 5.5V8M4.5 10.5V8h7v2.5"],
  keyboard: ["M1.5 4h13v8h-13zM4 6.5h.01M6.7 6.5h.01M9.3 6.5h.01M12 6.5h.01M5 9.5h6"],
};

/** A small picture; what it stands for is said by the element that it is in. */
export function icon(name) {
  const [path, isFilled] = SHAPES[name];
  return svg("svg", { viewBox: "0 0 16 16", class: isFilled ? "icon filled" : "icon", "aria-hidden": "true" }, svg("path", { d: path }));
}

/** Says something to those who listen to the page, and nothing to those who see it. */
export function announce(text) {
  document.getElementById("announcer").textContent = text;
}

const thousands = new Intl.NumberFormat("en-US");

/** `1,234,567`. */
export const counted = (count) => thousands.format(count);

/** `1 row`, `2 rows`. */
export const plural = (count, one) => `${counted(count)} ${one}${count === 1 ? "" : "s"}`;

/** A time in milliseconds, short. */
export function duration(ms) {
  if (ms < 0.1) return `${Math.round(ms * 1000)} µs`;
  if (ms < 10) return `${ms.toFixed(1)} ms`;
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60000) return `${(ms / 1000).toFixed(2)} s`;
  return `${Math.floor(ms / 60000)} min ${Math.round((ms % 60000) / 1000)} s`;
}

/** Bytes, short. */
export function bytes(count) {
  for (const unit of ["B", "KiB", "MiB", "GiB"]) {
    if (count < 1024) return `${count < 10 && unit !== "B" ? count.toFixed(1) : Math.round(count)} ${unit}`;
    count /= 1024;
  }
  return `${count.toFixed(1)} TiB`;
}

/** Moves the focus among elements with the arrow keys, Home and End: for tabs and menus. One of them can be reached by Tab. */
export function roving(event, elements, { isVertical = false } = {}) {
  const keys = isVertical ? ["ArrowUp", "ArrowDown"] : ["ArrowLeft", "ArrowRight"];
  const at = elements.indexOf(document.activeElement);
  let to = null;
  if (event.key === keys[0]) to = (at - 1 + elements.length) % elements.length;
  else if (event.key === keys[1]) to = (at + 1) % elements.length;
  else if (event.key === "Home") to = 0;
  else if (event.key === "End") to = elements.length - 1;
  if (to === null || !elements.length) return null;
  event.preventDefault();
  elements[to].focus();
  return elements[to];
}

/** A menu below an element: `items` are `{ label, hint, run }`. */
export function menu(anchor, items, { extra = null } = {}) {
  document.querySelector(".menu")?.remove();
  const close = (backTo) => { box.remove(); document.removeEventListener("pointerdown", outside, true); if (backTo) anchor.focus(); };
  const outside = (event) => { if (!box.contains(event.target)) close(false); };
  const buttons = items.map(({ label, hint, run }) =>
    h("button.item", { role: "menuitem", tabIndex: -1, onclick: () => { close(true); run(); } }, h("span", {}, label), hint ? h("kbd", {}, hint) : null));
  const box = h("div.menu", {
    role: "menu",
    onkeydown: (event) => {
      if (event.key === "Escape" || event.key === "Tab") { event.preventDefault(); event.stopPropagation(); close(true); }
      else roving(event, buttons, { isVertical: true });
    },
  }, extra, ...buttons);
  document.body.append(box);
  const { left, top, bottom } = anchor.getBoundingClientRect();
  // Below, or above where there is more room; again when what comes later makes it larger.
  new ResizeObserver(() => {
    const isAbove = bottom + 4 + box.offsetHeight > innerHeight - 8 && top > innerHeight - bottom;
    box.style.left = `${Math.max(8, Math.min(left, innerWidth - box.offsetWidth - 8))}px`;
    box.style.top = `${Math.max(8, isAbove ? top - box.offsetHeight - 4 : Math.min(bottom + 4, innerHeight - box.offsetHeight - 8))}px`;
  }).observe(box);
  document.addEventListener("pointerdown", outside, true);
  buttons[0]?.focus();
  return { box, close };
}
