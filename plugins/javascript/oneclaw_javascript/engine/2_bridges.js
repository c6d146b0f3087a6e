// The functions that reach out of the engine. Each is a request to the caller, who checks it and may refuse it.

const MAX_OPEN_REQUESTS = 32;
const MAX_OPEN_CHARACTERS = 8_000_000;
const MAX_REQUEST_CHARACTERS = 1_000_000;
const LINES_PER_SOURCE = 100_000;

let lastRequestId = 0;
let openRequests = 0;
let openCharacters = 0;
let firstWaiting = 0;
let lastWaiting = 0;
const settlers = { __proto__: null };
const waiting = { __proto__: null };
const loadedLibraries = { __proto__: null };
let libraryNames = "";
let libraryCount = 0;
let consoleCharactersLeft = 0;

function frameOf(name, argumentsText) {
  lastRequestId += 1;
  const frame = `{"type":"request","id":${lastRequestId},"name":"${name}","arguments":${argumentsText}}`;
  if (frame.length > MAX_REQUEST_CHARACTERS) {
    throw new RangeError(`${name}: at most ${MAX_REQUEST_CHARACTERS} characters can be passed at once`);
  }
  return frame;
}

function replyError(fault) {
  if (fault.errorType !== undefined) return new ToolError(fault);
  const { name, message } = fault;
  const error = new Error(message);
  define(error, "name", { value: name, configurable: true, writable: true });
  return error;
}

/** Ask and go on; the answer comes later. */
function request(name, argumentsText) {
  const frame = frameOf(name, argumentsText);
  const id = lastRequestId;
  return new Promise((resolve, reject) => {
    settlers[id] = { resolve, reject, size: frame.length };
    waiting[lastWaiting] = { id, frame };
    lastWaiting += 1;
    sendWaiting();
  });
}

function sendWaiting() {
  while (firstWaiting < lastWaiting && openRequests - openSleeps < MAX_OPEN_REQUESTS) {
    const { id, frame } = waiting[firstWaiting];
    if (openRequests > 0 && openCharacters + frame.length > MAX_OPEN_CHARACTERS) return;
    delete waiting[firstWaiting];
    firstWaiting += 1;
    openRequests += 1;
    openCharacters += settlers[id].size;
    send(frame);
  }
}

function deliver(id, text) {
  const settler = settlers[id];
  if (settler === undefined) return;
  delete settlers[id];
  openRequests -= 1;
  openCharacters -= settler.size;
  try {
    const reply = parse(text);
    if (reply.error === undefined) settler.resolve(reply.value);
    else settler.reject(replyError(reply.error));
  } catch (error) {
    settler.reject(error);
  }
  sendWaiting();
}

/** Ask and wait for the answer. */
function requestNow(name, argumentsText) {
  const frame = frameOf(name, argumentsText);
  const reply = parse(ask(frame, lastRequestId));
  if (reply.error !== undefined) throw replyError(reply.error);
  return reply.value;
}

function optionalText(value) {
  return value === undefined || value === null ? "null" : quote(toText(value));
}

function requiredText(name, value) {
  if (typeof value !== "string") throw new TypeError(`${name} must be a string, not ${show(value)}`);
  return quote(value);
}

function headerPairs(headers) {
  if (headers === undefined || headers === null) return "[]";
  if (typeof headers !== "object") throw new TypeError("fetch: headers must be an object");
  let text = "";
  const add = (name, value) => {
    text += `${text && ","}[${quote(toText(name))},${quote(toText(value))}]`;
  };
  if (isArray(headers)) for (const [name, value] of headers) add(name, value);
  else if (typeof headers.forEach === "function") headers.forEach((value, name) => add(name, value));
  else for (const name of namesOf(headers)) add(name, headers[name]);
  return `[${text}]`;
}

function bodyText(body) {
  if (typeof body === "object" && body !== null) {
    throw new TypeError("fetch: body must be a string; write an object with JSON.stringify(body)");
  }
  return optionalText(body);
}

function responseOf({ status, statusText, url, redirected, headers: pairs, body, truncated, kind }) {
  const headers = {};
  for (const [name, value] of pairs) define(headers, name, { value, enumerable: true, configurable: true, writable: true });
  const valueOf = (name) => pairs.find(([each]) => each === toText(name).toLowerCase())?.[1] ?? null;
  const methods = {
    get: valueOf,
    has: (name) => valueOf(name) !== null,
    forEach: (call) => pairs.forEach(([name, value]) => call(value, name, headers)),
    entries: () => pairs.values(),
    [Symbol.iterator]: () => pairs.values(),
  };
  for (const name of ownKeys(methods)) {
    define(headers, name, { value: methods[name], enumerable: false, configurable: true, writable: true });
  }
  const text = async () => {
    if (body === null) throw new TypeError(`the body of ${url} is not a text (${kind})`);
    return body;
  };
  const json = async () => {
    const content = await text();
    if (truncated) throw new RangeError(`the body of ${url} is too long: only its beginning was read`);
    return parse(content);
  };
  return { ok: status >= 200 && status < 300, status, statusText, url, redirected, headers, truncated, text, json };
}

async function fetch(url, options = {}) {
  options ??= {};
  const fields =
    `"url":${requiredText("fetch: url", typeof url === "object" && url !== null ? toText(url) : url)},` +
    `"method":${optionalText(options.method)},"headers":${headerPairs(options.headers)},"body":${bodyText(options.body)}`;
  return responseOf(await request("fetch", `{${fields}}`));
}

const fs = {
  readFile: (path, encoding) => {
    const name = typeof encoding === "object" && encoding !== null ? encoding.encoding : encoding;
    return requestNow("fs.readFile", `{"path":${requiredText("fs.readFile: path", path)},"encoding":${optionalText(name)}}`);
  },
  writeFile: (path, content) => write("fs.writeFile", path, content),
  appendFile: (path, content) => write("fs.appendFile", path, content),
  exists: (path) => requestNow("fs.exists", `{"path":${requiredText("fs.exists: path", path)}}`),
};

function write(name, path, content) {
  const fields = `"path":${requiredText(`${name}: path`, path)},"content":${requiredText(`${name}: content`, content)}`;
  requestNow(name, `{${fields}}`);
}

function time(zone, format) {
  return requestNow("_time", `{"timezone":${optionalText(zone)},"format":${optionalText(format)}}`);
}

/** The whole of an earlier result, which the model was shown a part of. */
function results(handle) {
  return requestNow("results", `{"handle":${requiredText("results: handle", handle)}}`);
}

/** Load a library: a CommonJS module, evaluated once. */
function lib(name) {
  const key = requiredText("lib: name", name);
  const known = loadedLibraries[key];
  if (known !== undefined) return known.exports;
  const source = requestNow("lib", `{"name":${key}}`);
  libraryNames += `${libraryNames && ","}${key}`;
  libraryCount += 1;
  const module = { exports: {} };
  loadedLibraries[key] = module;
  // All sources go by the same file name; what line an error is at tells them apart.
  const offset = "\n".repeat(LINES_PER_SOURCE * (libraryCount + 1));
  try {
    evaluate(`${offset}(function (module, exports, require) {${source}\n})`)(module, module.exports, lib);
  } catch (error) {
    delete loadedLibraries[key];
    throw error;
  }
  return module.exports;
}

function logger(level) {
  return (...values) => {
    if (consoleCharactersLeft <= 0) return;
    let text = "";
    for (let index = 0; index < values.length; index += 1) text += (index ? " " : "") + show(values[index]);
    text = shorten(text, consoleCharactersLeft);
    consoleCharactersLeft -= text.length + 1;
    send(`{"type":"console","level":"${level}","text":${quote(text)}}`);
  };
}

function makeConsole() {
  const log = logger("log");
  const [info, debug, warn, error] = [logger("info"), logger("debug"), logger("warn"), logger("error")];
  return { log, info, debug, warn, error, dir: (value) => log(value), table: (value) => log(value), trace: log };
}

/** Give the program what it is called with, and the functions that the caller answers. */
function install({ params, bridges, console_characters: consoleCharacters, script }) {
  consoleCharactersLeft = consoleCharacters;
  const globals = { params, console: makeConsole(), ...webGlobals, ...installScript(script ?? {}) };
  const offered = { fetch: script ? (...args) => awaitable("fetch(...)", fetch(...args)) : fetch, _time: time, lib, results };
  for (const name of bridges) {
    if (name in offered) globals[name] = offered[name];
    else if (name.startsWith("fs.")) (globals.fs ??= {})[name.slice(3)] = fs[name.slice(3)];
  }
  for (const name of namesOf(globals)) {
    define(globalThis, name, { value: globals[name], configurable: true, writable: true, enumerable: false });
  }
}
