// What the browser keeps: tabs, history, saved queries, looks. Nothing breaks where it keeps nothing.

const PREFIX = "inlay.";
export const HISTORY_MAX = 500;

function load(key, otherwise) {
  try {
    return JSON.parse(localStorage.getItem(PREFIX + key)) ?? otherwise;
  } catch {
    return otherwise;
  }
}

function save(key, value) {
  try {
    localStorage.setItem(PREFIX + key, JSON.stringify(value));
  } catch { /* full, or not allowed: the page works on */ }
}

export const looks = { get: (name, otherwise) => load(`look.${name}`, otherwise), set: (name, value) => save(`look.${name}`, value) };

export const tabs = {
  load: () => load("tabs", { active: 0, list: [] }),
  save: (active, list) => save("tabs", { active, list: list.map(({ name, text }) => ({ name, text })) }),
};

export const history = {
  all: () => load("history", []),
  add(entry) {
    const others = this.all().filter((one) => one.sql !== entry.sql);
    save("history", [entry, ...others].slice(0, HISTORY_MAX));
  },
  clear: () => save("history", []),
};

export const saved = {
  all: () => load("saved", []),
  put(name, sql) {
    save("saved", [...this.all().filter((one) => one.name !== name), { name, sql }].sort((a, b) => a.name.localeCompare(b.name)));
  },
  remove(name) {
    save("saved", this.all().filter((one) => one.name !== name));
  },
};
