// Scripts of a model: they call tools, have one fixed time and one sequence of random numbers, so that they can be run
// again with the same outcome, and cannot make code of data.

const promiseThen = Promise.prototype.then;
const functionOf = globalThis.Function;
const toolFunctions = new WeakSet();
const unobserved = new Set();

class ToolError extends Error {
  constructor({ message, errorType, tool }) {
    super(message);
    define(this, "name", { value: "ToolError", configurable: true, writable: true, enumerable: false });
    this.errorType = errorType;
    this.tool = tool;
  }
}

/** What a call returns: it can be awaited, and says so where it is used without that. */
function awaitable(label, promise) {
  const settled = { label, failure: null };
  apply(promiseThen, promise, [undefined, (error) => void (settled.failure ??= error)]);
  unobserved.add(settled);
  const follow = (method) => (...args) => {
    unobserved.delete(settled);
    return promise[method](...args);
  };
  const methods = { __proto__: null, then: follow("then"), catch: follow("catch"), finally: follow("finally") };
  const refuse = (_, key) => {
    if (key in methods) return methods[key];
    throw new TypeError(`${label} was not awaited: write (await ${label}) before you use its result`);
  };
  return new Proxy(methods, { get: refuse });
}

const isAwaitable = (value) => {
  try {
    return typeof value === "object" && value !== null && Object.getPrototypeOf(value) === null && typeof value.then === "function";
  } catch {
    return false;
  }
};

function toolFunction(name) {
  const call = (...args) => {
    const [given] = args;
    const isObject = typeof given === "object" && given !== null && !isArray(given);
    if (args.length > 1 || (args.length === 1 && given !== undefined && !isObject)) {
      throw new TypeError(`tools.${name} takes one object with its arguments: tools.${name}({...})`);
    }
    if (isAwaitable(given)) throw new TypeError(`tools.${name}: its arguments were not awaited`);
    const text = stringify(given ?? {});
    return awaitable(`tools.${name}(...)`, request("tool", `{"name":${quote(name)},"arguments":${text}}`));
  };
  toolFunctions.add(call);
  return call;
}

function makeTools(names) {
  const known = new Map();
  const get = (_, name) => {
    if (typeof name !== "string" || name === "then" || name === "toJSON") return undefined;
    if (!known.has(name)) known.set(name, toolFunction(name));
    return known.get(name);
  };
  return new Proxy({ __proto__: null }, {
    get,
    has: (_, name) => names.includes(name),
    ownKeys: () => [...names],
    getOwnPropertyDescriptor: (_, name) => names.includes(name) ? { value: get(_, name), enumerable: true, configurable: true } : undefined,
    set: () => false,
    defineProperty: () => false,
  });
}

/** The first failure of a call that nothing waited for, ``null`` if there is none. */
function unobservedFailure() {
  for (const { label, failure } of unobserved) {
    if (failure !== null) return `${label} failed, and the script did not await it: ${toText(failure.message)}`;
  }
  return null;
}

function fixTime(moment) {
  const RealDate = globalThis.Date;
  const FixedDate = new Proxy(RealDate, {
    construct: (_, args, target) => Reflect.construct(RealDate, args.length ? args : [moment], target === FixedDate ? RealDate : target),
    apply: () => toText(new RealDate(moment)),
  });
  define(RealDate, "now", { value: () => moment, configurable: true, writable: true });
  define(RealDate.prototype, "constructor", { value: FixedDate, configurable: true, writable: true });
  define(globalThis, "Date", { value: FixedDate, configurable: true, writable: true });
  define(globalThis, "performance", { value: { now: () => 0, timeOrigin: moment }, configurable: true, writable: true });
}

/** Small fast counter: the generator sfc32. */
function seedRandom([a, b, c, d]) {
  const next = () => {
    const sum = (((a + b) | 0) + d) | 0;
    d = (d + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (((c << 21) | (c >>> 11)) + sum) | 0;
    return (sum >>> 0) / 4294967296;
  };
  for (let round = 0; round < 12; round += 1) next();
  define(Math, "random", { value: next, configurable: true, writable: true });
}

function disableEvaluation() {
  const refuse = (...args) => {
    if (args.length === 1 && /^\s*return\s+this;?\s*$/.test(toText(args[0]))) return () => globalThis;
    throw new EvalError("scripts cannot evaluate text as code: write the code into the script");
  };
  define(globalThis, "eval", { value: refuse, configurable: false, writable: false });
  const kinds = [function () {}, async function () {}, function* () {}, async function* () {}];
  for (const each of kinds) {
    const prototype = Object.getPrototypeOf(each);
    const constructor = function Function(...args) {
      return refuse(...args);
    };
    define(constructor, "prototype", { value: prototype, writable: false });
    define(prototype, "constructor", { value: constructor, configurable: false, writable: false });
    if (prototype === functionOf.prototype) define(globalThis, "Function", { value: constructor, configurable: false, writable: false });
  }
}

/** Make the globals of a script. */
function installScript({ now_ms: moment, seed, tool_names: names, is_evaluation_allowed: canEvaluate }) {
  if (moment !== undefined) fixTime(moment);
  if (seed !== undefined) seedRandom(seed);
  if (canEvaluate === false) disableEvaluation();
  return names === undefined ? {} : { tools: makeTools(names), ToolError };
}
