// Requests to the server: the one module that knows its contract (README.md). All addresses are relative, so that the page may live under a prefix.

/** An error of a statement, or of the way to the server. `offset` counts UTF-16 units from the start of the statement, as the editor does. */
export class ServerError extends Error {
  constructor(message, { sqlstate = null, hint = null, offset = null, status = 0 } = {}) {
    super(message);
    Object.assign(this, { sqlstate, hint, offset, status });
  }
}

/** A number of an answer with every digit that was sent: a double would lose some. */
export class Num {
  constructor(text) {
    this.text = text;
  }
}

/** Reads JSON as JSON.parse does, but numbers become `Num`. */
export function parseExact(text) {
  let at = 0;
  const fail = () => { throw new ServerError(`the answer is not JSON at character ${at}`); };
  const space = () => { while (text.charCodeAt(at) <= 32) at++; };
  const string = () => {
    const start = at;
    for (;;) {
      const end = text.indexOf('"', at + 1);
      if (end < 0) fail();
      at = end;
      let slashes = 0;
      while (text.charCodeAt(end - 1 - slashes) === 92) slashes++;
      if (slashes % 2 === 0) break;
    }
    at++;
    const raw = text.slice(start, at);
    return raw.includes("\\") ? JSON.parse(raw) : raw.slice(1, -1);
  };
  const number = /-?[0-9][0-9.eE+-]*/y;
  const value = () => {
    space();
    const c = text[at];
    if (c === '"') return string();
    if (c === "{" || c === "[") return c === "[" ? list() : object();
    for (const [word, meaning] of WORDS) {
      if (text.startsWith(word, at)) { at += word.length; return meaning; }
    }
    number.lastIndex = at;
    const found = number.exec(text);
    if (!found) fail();
    at = number.lastIndex;
    return new Num(found[0]);
  };
  const items = (end, one) => {
    at++;
    for (space(); text[at] !== end;) {
      one();
      space();
      if (text[at] === ",") at++;
      else if (text[at] !== end) fail();
      space();
    }
    at++;
  };
  const list = () => {
    const out = [];
    items("]", () => out.push(value()));
    return out;
  };
  // A Map keeps keys as they came, whatever they are called.
  const object = () => {
    const out = new Map();
    items("}", () => {
      space();
      const key = string();
      space();
      if (text[at++] !== ":") fail();
      out.set(key, value());
    });
    return out;
  };
  const whole = value();
  space();
  if (at < text.length) fail();
  return whole;
}
const WORDS = [["null", null], ["true", true], ["false", false]];

const credentials = { get: () => sessionStorage.getItem("inlay.authorization"), set: (text) => sessionStorage.setItem("inlay.authorization", text) };

/** Asked when the server wants to know who it is: resolves to a user and password or a token, or to null. */
let askWho = async () => null;
export const onUnauthorized = (handler) => { askWho = handler; };

async function request(path, { method = "GET", params = {}, body, signal, headers = {}, keepalive = false } = {}) {
  const query = new URLSearchParams(params).toString();
  for (;;) {
    const all = { ...headers };
    const who = credentials.get();
    if (who) all.authorization = who;
    let response;
    try {
      response = await fetch(path + (query && `?${query}`), { method, body, signal, headers: all, keepalive, credentials: "same-origin", cache: "no-store" });
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new ServerError("the server does not answer", { hint: "is it still running?" });
    }
    if (response.status !== 401) return response;
    const given = await askWho(who ? "That was not accepted." : "");
    if (!given) throw await errorOf(response, "");
    credentials.set(given.token ? `Bearer ${given.token}` : `Basic ${btoa(String.fromCharCode(...new TextEncoder().encode(`${given.user}:${given.password}`)))}`);
  }
}

/** Where an error is: the server counts characters, from one; the editor UTF-16 units, from nothing. */
function offsetOf(position, sql) {
  if (position === null || position === undefined) return null;
  let characters = Number(position);
  if (typeof position === "object") {
    const lines = sql.split("\n");
    const before = lines.slice(0, position.line - 1).join("\n");
    characters = [...before].length + (position.line > 1 ? 1 : 0) + position.column;
  }
  return [...sql].slice(0, characters - 1).join("").length;
}

async function errorOf(response, sql) {
  const text = await response.text().catch(() => "");
  return told(text, sql, response.status)
    ?? new ServerError(`the server answered ${response.status} ${response.statusText}`.trim(), { hint: text.slice(0, 200) || null, status: response.status });
}

/** The error that a text tells of; null when it is not from Inlay but a proxy's page, say. */
function told(text, sql, status = 0) {
  try {
    const { error } = JSON.parse(text);
    const place = error.position ?? (error.line ? { line: error.line, column: error.column } : null);
    return new ServerError(error.message, { sqlstate: error.code ?? null, hint: [error.detail, error.hint].filter(Boolean).join("\n") || null, offset: offsetOf(place, sql), status });
  } catch {
    return null;
  }
}

let session = null;

/** The page's session, in which its settings, transactions and temporary tables live; null where the server has none, and each request stands alone. */
async function sessionHeaders() {
  session ??= request("session", { method: "POST" }).then(async (response) => {
    if (response.status === 404) return null;
    if (!response.ok) throw await errorOf(response, "");
    return (await response.json()).session;
  });
  try {
    const name = await session;
    return name === null ? {} : { "inlay-session": name };
  } catch (error) {
    session = null;
    throw error;
  }
}

/** Whether temporary tables stay from one request to the next. */
export const hasSession = async () => "inlay-session" in (await sessionHeaders());

/** Ends the session, when the page is closed. */
export async function leave() {
  if (!session) return;
  const name = await session.catch(() => null);
  session = null;
  if (name) request(`session/${encodeURIComponent(name)}`, { method: "DELETE", keepalive: true }).catch(() => {});
}

/** A session may be gone: the server was started again, or nobody used it for long. */
const GONE = 410;

async function post(sql, { format, signal, id = newId() }) {
  for (let isSecond = false; ; isSecond = true) {
    const headers = { ...await sessionHeaders(), "inlay-statement": id, "content-type": "application/sql" };
    const response = await request("query", { method: "POST", params: { format }, body: sql, signal, headers });
    if (response.ok) return response;
    if (response.status === GONE && !isSecond) {
      session = null;
      continue;
    }
    throw await errorOf(response, sql);
  }
}

let statementCount = 0;
const pageName = Math.random().toString(36).slice(2, 10);

/** A name for a statement, by which it can be asked for and ended while it runs. */
export const newId = () => `page-${pageName}-${++statementCount}`;

/** Runs one statement. Reading ends behind `limit` rows, which ends the statement; `isWhole` says whether these are all. */
export async function query(sql, { limit = Infinity, signal, id } = {}) {
  const stop = new AbortController();
  const response = await post(sql, { format: "json", id, signal: signal ? AbortSignal.any([signal, stop.signal]) : stop.signal });
  const { text, isCut } = await readRows(response, limit);
  if (isCut) stop.abort();
  const answer = parseExact(text);
  const columns = (answer.get("columns") ?? []).map((column) => ({ name: column.get("name"), type: column.get("type") }));
  const changed = answer.get("changed");
  return { columns, rows: answer.get("rows") ?? [], isWhole: !isCut, changed: changed instanceof Num ? Number(changed.text) : null };
}

/** The text of an answer up to a number of rows, made whole where it was cut. */
async function readRows(response, limit) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  const parts = [];
  let depth = 0, rows = 0, inString = false, isEscaped = false;
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return { text: parts.join(""), isCut: false };
      if (limit === Infinity) { parts.push(value); continue; }
      for (let at = 0; at < value.length; at++) {
        const c = value.charCodeAt(at);
        if (inString) {
          if (isEscaped) isEscaped = false;
          else if (c === 92) isEscaped = true;
          else if (c === 34) inString = false;
        } else if (c === 34) inString = true;
        else if (c === 91) {
          // The third bracket opens a row: those of the answer, of `rows`, and its own. Columns are objects.
          if (depth === 2 && rows++ === limit) {
            const text = (parts.join("") + value.slice(0, at)).trimEnd().replace(/,$/, "");
            reader.cancel().catch(() => {});
            return { text: `${text}]}`, isCut: true };
          }
          depth++;
        } else if (c === 123) depth++;
        else if (c === 93 || c === 125) depth--;
      }
      parts.push(value);
    }
  } catch (error) {
    if (error.name === "AbortError") throw error;
    // What failed after rows were sent: the body broke off, and its last line says why.
    const last = parts.join("").trimEnd().split("\n").at(-1) ?? "";
    throw told(last, "") ?? new ServerError("the answer broke off", { hint: "is the server still running?" });
  }
}

/** Rows as objects of texts, for the page's own questions. */
export async function ask(sql, options) {
  const { columns, rows } = await query(sql, options);
  const plain = (value) => (value instanceof Num ? Number(value.text) : value);
  return rows.map((row) => Object.fromEntries(row.map((value, index) => [columns[index].name, plain(value)])));
}

/** The whole answer in a format, as a file. */
export async function download(sql, format, { signal } = {}) {
  const response = await post(sql, { format, signal });
  return response.blob();
}

/** What runs on the server: id, user, sql, seconds, progress (percent or null). */
export async function running({ signal } = {}) {
  const response = await request("statements", { signal });
  if (!response.ok) throw await errorOf(response, "");
  return (await response.json()).statements;
}

/** Ends a statement by its id; true if it ran. */
export async function kill(id) {
  const response = await request(`statements/${encodeURIComponent(id)}`, { method: "DELETE" });
  if (!response.ok && response.status !== 404) throw await errorOf(response, "");
  return response.ok;
}
