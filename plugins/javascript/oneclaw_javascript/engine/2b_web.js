// What code for browsers and Node.js expects beside the language: timers, URL, TextEncoder and the like.

const realNow = performance.now.bind(performance);
const { floor, max, min } = Math;
const timers = new Map();
let lastTimerId = 0;
let openSleeps = 0;
let nextWake = Infinity;
const timerFailures = [];

function setTimer(call, delay, repeats, args) {
  if (typeof call !== "function") throw new TypeError("setTimeout: the first argument must be a function");
  const pause = max(Number(delay) || 0, 0);
  lastTimerId += 1;
  timers.set(lastTimerId, { call, args, pause, repeats, due: realNow() + pause });
  sleepUntil(realNow() + pause);
  return lastTimerId;
}

/** Have the caller wake the program when the next timer is due. */
function sleepUntil(due) {
  if (due >= nextWake) return;
  nextWake = due;
  openSleeps += 1;
  const wake = () => {
    openSleeps -= 1;
    if (nextWake === due) nextWake = Infinity;
    runTimers();
  };
  request("_sleep", `{"milliseconds":${max(due - realNow(), 0).toFixed(3)}}`).then(wake, wake);
}

function runTimers() {
  for (const [id, timer] of [...timers]) {
    if (timer.due > realNow() + 0.5 || !timers.has(id)) continue;
    if (timer.repeats) timer.due = realNow() + max(timer.pause, 1);
    else timers.delete(id);
    try {
      timer.call(...timer.args);
    } catch (error) {
      timerFailures.push(error);
    }
  }
  let next = Infinity;
  for (const { due } of timers.values()) next = min(next, due);
  if (next !== Infinity) sleepUntil(next);
}

/** A deep copy, as far as it consists of data. */
function structuredClone(value, seen = new Map()) {
  if (typeof value === "function" || typeof value === "symbol") throw new TypeError("a function cannot be cloned");
  if (typeof value !== "object" || value === null) return value;
  if (seen.has(value)) return seen.get(value);
  if (value instanceof Date) return new value.constructor(value.getTime());
  if (value instanceof RegExp) return new RegExp(value.source, value.flags);
  if (ArrayBuffer.isView(value)) return value.slice();
  const copy = isArray(value) ? [] : value instanceof Map ? new Map() : value instanceof Set ? new Set() : {};
  seen.set(value, copy);
  if (value instanceof Map) for (const [key, each] of value) copy.set(structuredClone(key, seen), structuredClone(each, seen));
  else if (value instanceof Set) for (const each of value) copy.add(structuredClone(each, seen));
  else for (const key of namesOf(value)) copy[key] = structuredClone(value[key], seen);
  return copy;
}

class TextEncoder {
  get encoding() {
    return "utf-8";
  }
  encode(text = "") {
    const escaped = encodeURIComponent(toText(text).toWellFormed());
    const bytes = [];
    for (let index = 0; index < escaped.length; index += 1) {
      if (escaped[index] === "%") {
        bytes.push(parseInt(escaped.slice(index + 1, index + 3), 16));
        index += 2;
      } else bytes.push(escaped.charCodeAt(index));
    }
    return new Uint8Array(bytes);
  }
}

class TextDecoder {
  constructor(encoding = "utf-8") {
    if (!/^utf-?8$/i.test(encoding)) throw new RangeError(`TextDecoder: only utf-8 is supported, not ${encoding}`);
  }
  get encoding() {
    return "utf-8";
  }
  decode(data = new Uint8Array()) {
    const bytes = data instanceof ArrayBuffer ? new Uint8Array(data) : new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
    let text = "";
    for (let index = 0; index < bytes.length; ) {
      const first = bytes[index];
      const length = first < 0x80 ? 1 : first >> 5 === 6 ? 2 : first >> 4 === 14 ? 3 : first >> 3 === 30 ? 4 : 0;
      const rest = [...bytes.subarray(index + 1, index + length)];
      if (length === 0 || rest.length !== length - 1 || rest.some((byte) => byte >> 6 !== 2)) {
        text += "\ufffd";
        index += 1;
        continue;
      }
      const head = length === 1 ? first : first & (0xff >> (length + 1));
      const point = rest.reduce((sum, byte) => sum * 64 + (byte & 63), head);
      text += point <= 0x10ffff ? toText.fromCodePoint(point) : "\ufffd";
      index += length;
    }
    return text.startsWith("\ufeff") ? text.slice(1) : text;
  }
}

const encodeForm = (text) => encodeURIComponent(toText(text)).replace(/%20/g, "+").replace(/[!'()~]/g, (it) => `%${it.charCodeAt(0).toString(16).toUpperCase()}`);
const decodeForm = (text) => {
  const plain = text.replace(/\+/g, " ");
  try {
    return decodeURIComponent(plain);
  } catch {
    return plain;
  }
};

class URLSearchParams {
  #pairs = [];
  #changed = () => {};
  constructor(init = "", changed = undefined) {
    if (changed !== undefined) this.#changed = changed;
    if (typeof init === "object" && init !== null) {
      for (const [name, value] of typeof init[Symbol.iterator] === "function" ? init : Object.entries(init)) this.#pairs.push([toText(name), toText(value)]);
    } else {
      for (const part of toText(init).replace(/^\?/, "").split("&")) {
        if (part === "") continue;
        const [name, ...rest] = part.split("=");
        this.#pairs.push([decodeForm(name), decodeForm(rest.join("="))]);
      }
    }
  }
  append(name, value) {
    this.#pairs.push([toText(name), toText(value)]);
    this.#changed(this);
  }
  delete(name) {
    this.#pairs = this.#pairs.filter(([each]) => each !== toText(name));
    this.#changed(this);
  }
  get(name) {
    return this.#pairs.find(([each]) => each === toText(name))?.[1] ?? null;
  }
  getAll(name) {
    return this.#pairs.filter(([each]) => each === toText(name)).map(([, value]) => value);
  }
  has(name) {
    return this.get(name) !== null;
  }
  set(name, value) {
    const place = this.#pairs.findIndex(([each]) => each === toText(name));
    if (place < 0) return this.append(name, value);
    this.#pairs = this.#pairs.filter(([each], index) => index <= place || each !== toText(name));
    this.#pairs[place] = [toText(name), toText(value)];
    this.#changed(this);
  }
  sort() {
    this.#pairs.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
    this.#changed(this);
  }
  forEach(call) {
    for (const [name, value] of this.#pairs) call(value, name, this);
  }
  keys() {
    return this.#pairs.map(([name]) => name).values();
  }
  values() {
    return this.#pairs.map(([, value]) => value).values();
  }
  entries() {
    return this.#pairs.map((pair) => [...pair]).values();
  }
  [Symbol.iterator]() {
    return this.entries();
  }
  get size() {
    return this.#pairs.length;
  }
  toString() {
    return this.#pairs.map(([name, value]) => `${encodeForm(name)}=${encodeForm(value)}`).join("&");
  }
}

const DEFAULT_PORTS = { "http:": "80", "https:": "443", "ftp:": "21", "ws:": "80", "wss:": "443" };
const escapePart = (text) => encodeURI(text.toWellFormed()).replace(/%25([0-9a-f]{2})/gi, "%$1");

class URL {
  #parts;
  #params;
  constructor(url, base = undefined) {
    let text = toText(url).trim();
    if (!/^[a-z][a-z0-9+.-]*:/i.test(text)) {
      if (base === undefined) throw new TypeError(`Invalid URL: ${shorten(text, 100)}`);
      text = URL.#joined(text, new URL(base));
    }
    const match = /^([a-z][a-z0-9+.-]*:)(?:\/\/(?:([^/?#@]*)@)?(\[[^\]]*\]|[^/?#:]*)(?::(\d*))?)?([^?#]*)(\?[^#]*)?(#.*)?$/is.exec(text);
    if (match === null || (match[1].toLowerCase() in DEFAULT_PORTS && !match[3])) throw new TypeError(`Invalid URL: ${shorten(text, 100)}`);
    const protocol = match[1].toLowerCase();
    const [username = "", ...password] = (match[2] ?? "").split(":");
    const isSpecial = protocol in DEFAULT_PORTS;
    this.#parts = {
      protocol,
      username,
      password: password.join(":"),
      hostname: (match[3] ?? "").toLowerCase(),
      port: match[4] === DEFAULT_PORTS[protocol] ? "" : (match[4] ?? ""),
      pathname: isSpecial ? URL.#withoutDots(escapePart(match[5]) || "/") : match[5],
      search: match[6] && match[6] !== "?" ? escapePart(match[6]) : "",
      hash: match[7] && match[7] !== "#" ? escapePart(match[7]) : "",
      hasHost: match[3] !== undefined,
    };
  }
  static #joined(text, base) {
    if (text.startsWith("//")) return base.protocol + text;
    if (text.startsWith("/")) return base.origin + text;
    if (text.startsWith("?")) return base.origin + base.pathname + text;
    if (text.startsWith("#") || text === "") return base.origin + base.pathname + base.search + text;
    return base.origin + base.pathname.replace(/[^/]*$/, "") + text;
  }
  static #withoutDots(path) {
    const kept = [];
    const names = path.split("/").slice(1);
    names.forEach((name, index) => {
      if (name === "..") kept.pop();
      if (name !== ".." && name !== ".") kept.push(name);
      else if (index === names.length - 1) kept.push("");
    });
    return `/${kept.join("/")}`;
  }
  static canParse(url, base) {
    try {
      return new URL(url, base) !== null;
    } catch {
      return false;
    }
  }
  get searchParams() {
    this.#params ??= new URLSearchParams(this.#parts.search, (it) => {
      const text = it.toString();
      this.#parts.search = text && `?${text}`;
    });
    return this.#params;
  }
  get host() {
    return this.#parts.hostname + (this.#parts.port && `:${this.#parts.port}`);
  }
  get origin() {
    return this.#parts.protocol in DEFAULT_PORTS ? `${this.#parts.protocol}//${this.host}` : "null";
  }
  get href() {
    const { protocol, username, password, pathname, search, hash, hasHost } = this.#parts;
    const user = username ? `${username}${password && `:${password}`}@` : "";
    return `${protocol}${hasHost ? `//${user}${this.host}` : ""}${pathname}${search}${hash}`;
  }
  toString() {
    return this.href;
  }
  toJSON() {
    return this.href;
  }
  static {
    for (const name of ["protocol", "username", "password", "hostname", "port", "pathname", "search", "hash"]) {
      const set = function (value) {
        let text = toText(value);
        if (name === "search" || name === "hash") text = text && (text.startsWith(name === "hash" ? "#" : "?") ? text : (name === "hash" ? "#" : "?") + text);
        if (name === "protocol" && !text.endsWith(":")) text += ":";
        if (name === "search") this.#params = undefined;
        this.#parts[name] = text;
      };
      define(URL.prototype, name, { get() { return this.#parts[name]; }, set, enumerable: true, configurable: true });
    }
  }
}

const random = Math.random;
const crypto = {
  getRandomValues(array) {
    for (let index = 0; index < array.length; index += 1) array[index] = floor(Math.random() * 4294967296);
    return array;
  },
  randomUUID() {
    const digit = (it) => floor(it === "x" ? Math.random() * 16 : 8 + Math.random() * 4).toString(16);
    return "xxxxxxxx-xxxx-4xxx-yxxx-xxxxxxxxxxxx".replace(/[xy]/g, digit);
  },
};

const webGlobals = {
  setTimeout: (call, delay, ...args) => setTimer(call, delay, false, args),
  setInterval: (call, delay, ...args) => setTimer(call, delay, true, args),
  setImmediate: (call, ...args) => setTimer(call, 0, false, args),
  clearTimeout: (id) => void timers.delete(id),
  clearInterval: (id) => void timers.delete(id),
  structuredClone: (value) => structuredClone(value),
  TextEncoder,
  TextDecoder,
  URL,
  URLSearchParams,
  crypto,
};
