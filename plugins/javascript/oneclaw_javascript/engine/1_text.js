// The parts in this folder, in the order of their names, are the body of one function. It is called before any foreign
// code runs, takes what it needs of the engine's own functions, and returns what the worker calls.
"use strict";

const { oneclaw_send: sendFlat, oneclaw_ask: askFlat } = globalThis;
delete globalThis.oneclaw_send;
delete globalThis.oneclaw_ask;

// Writing values as text. What the program sends to its caller is put together from JSON of single strings, since a
// foreign toJSON() is called for objects, but never for strings.

const { Array, ArrayBuffer, DataView, Error, Map, Number, Object, Promise, RegExp, Set, Symbol } = globalThis;
const { RangeError, ReferenceError, TypeError } = globalThis;
const { parse, stringify } = JSON;
const { apply, deleteProperty, ownKeys } = Reflect;
const toText = globalThis.String;
const evaluate = globalThis.eval; // called by another name, it evaluates in the global scope
const isError = Error.isError;
const isArray = Array.isArray;
const namesOf = Object.keys;
const sliceText = String.prototype.slice;
const joinTexts = Array.prototype.join;
const define = Object.defineProperty;

const MAX_ERROR_CHARACTERS = 4000;

// A long text that was put together stays a tree of its parts for a while, which no Python function can be called with.
const flat = (text) => apply(joinTexts, [text], [""]);
const send = (frame) => sendFlat(flat(frame));
const ask = (frame, id) => askFlat(flat(frame), id);
const quote = (text) => stringify(text);
const shorten = (text, length) => (text.length > length ? apply(sliceText, text, [0, length]) : text);

/** What JSON knows nothing of, as something that it does know. */
function asData(name, value) {
  if (typeof value === "bigint") return toText(value);
  if (typeof value !== "object" || value === null) return value;
  if (value instanceof Set) return [...value];
  if (value instanceof Map) {
    const entries = [...value];
    return entries.every(([key]) => typeof key === "string") ? Object.fromEntries(entries) : entries;
  }
  if (ArrayBuffer.isView(value) && !(value instanceof DataView)) return Array.from(value);
  if (isError(value)) return errorText(value);
  return value;
}

function errorText(error) {
  const name = toText(error.name);
  const message = toText(error.message);
  return message ? `${name}: ${message}` : name;
}

/** A value as the console shows it; throws whatever the value's own code throws. */
function showOrThrow(value) {
  if (typeof value === "string") return value;
  if (typeof value === "function") return value.name ? `[Function ${toText(value.name)}]` : "[Function]";
  if (typeof value !== "object" || value === null) return toText(value);
  if (isAwaitable(value)) return "[a call that was not awaited]";
  if (isError(value)) return errorText(value);
  if (value instanceof RegExp) return toText(value);
  return stringify(value, asData) ?? toText(value);
}

function show(value) {
  try {
    return toText(showOrThrow(value));
  } catch {
    try {
      return toText(value);
    } catch {
      return "[object that cannot be shown]";
    }
  }
}

/** The result of a program as JSON. */
function resultText(value) {
  if (value === undefined || value === null) return "null";
  if (typeof value === "function" || typeof value === "symbol") return quote(show(value));
  if (typeof value === "number" && value - value !== 0) return quote(toText(value)); // NaN and the infinities
  return stringify(value, asData) ?? "null";
}

/** A thrown value, which need not be an Error, as the parts of a message. */
function failureFields(thrown) {
  const read = (get) => {
    try {
      return shorten(toText(get()), MAX_ERROR_CHARACTERS);
    } catch {
      return "";
    }
  };
  if (isError(thrown)) {
    return [read(() => thrown.name), read(() => thrown.message), read(() => thrown.stack ?? "")];
  }
  return ["", read(() => show(thrown)), ""];
}
