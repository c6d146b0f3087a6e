// Running a program: as a script if it is one, else as the body of an async function, which may await and return.

const ENTRY = "oneclaw_entry";

let job = null;
let getEntry = null;
let isSettled = false;
let isFailed = false;
let held;
let isParsed = false;
let hasColumns = true;

const entryGetter = (name) => `${ENTRY}(() => typeof ${name} === "function" ? ${name} : undefined)`;
const asScript = (source, name) => `${source}\n;let oneclaw_probe = ${entryGetter(name)};`;
const asFunction = (source, name) => `(async () => {${entryGetter(name)};${source}\n})()`;

/** Compile code without running any of it: what is thrown first is either thrown by the compiler, or 0. */
function compileFault(text) {
  try {
    evaluate(`throw 0;${text}`);
  } catch (fault) {
    return fault === 0 ? null : fault;
  }
  return null;
}

/** How far the compiler came, as a number to compare. */
function reached(fault, prefix) {
  const [, line, column] = /:(\d+):(\d+)/.exec(toText(fault.stack)) ?? [0, 1, 1];
  return line * 1e7 + (line === "1" ? column - prefix : Number(column));
}

/** Choose the text to evaluate for a job. Throws the SyntaxError of code that is no program. */
function prepare({ code, function_name: name, script }) {
  return script ? prepareLeniently(code, name) : prepareStrictly(code, name);
}

/** The same for code of a model, which may stand in a fence, be TypeScript, or export and import. */
function prepareLeniently(code, name) {
  const plain = withoutFence(code);
  let fault;
  try {
    return prepareStrictly(plain, name);
  } catch (error) {
    fault = error;
  }
  const local = withoutModules(plain);
  for (const each of [local, withoutTypes(local)]) {
    try {
      if (each !== plain) return prepareStrictly(each, name);
    } catch {
      continue; // the fault of the code as it was written says more
    }
  }
  throw fault;
}

/** Choose the text to evaluate. Throws the SyntaxError of code that is no program. */
function prepareStrictly(code, name) {
  if (/^\s*\{[^]*\}\s*$/.test(code) && compileFault(`(${code}\n)`) === null) return `(${code}\n)`;
  const scriptFault = compileFault(asScript(code, name));
  if (scriptFault === null) return asScript(code, name);
  const asBody = asFunction(code, name);
  const bodyFault = compileFault(asBody);
  if (bodyFault !== null) {
    // As a script, evaluated as it is, the code names the place most exactly; unless the await in it is the fault.
    if (reached(bodyFault, asBody.indexOf(code)) <= reached(scriptFault, 0)) evaluate(code);
    hasColumns = false;
    throw bodyFault;
  }
  hasColumns = false;
  const returning = withLastValueReturned(code, scan(code).tokens);
  if (returning !== null && compileFault(asFunction(returning, name)) === null) return asFunction(returning, name);
  return asBody;
}

function evaluateProgram(text) {
  define(globalThis, ENTRY, { value: (get) => void (getEntry ??= get), configurable: true });
  try {
    return evaluate(text);
  } finally {
    deleteProperty(globalThis, ENTRY); // unless the code has frozen all
  }
}

function entryFunction() {
  try {
    return getEntry?.();
  } catch {
    return undefined; // the code returned before it came to define it
  }
}

async function run() {
  try {
    const { code, function_name: name, is_required: isRequired, params } = job;
    const known = globalThis[name];
    const text = prepare(job);
    isParsed = true;
    const value = await evaluateProgram(text);
    const entry = entryFunction();
    if (entry === undefined || entry === known) {
      if (isRequired) throw new ReferenceError(`the code defines no function ${name}`);
      held = value;
    } else if (!isRequired && scan(code).calls.has(name)) {
      held = value;
    } else {
      held = await entry(params);
    }
    if (toolFunctions.has(held)) throw new TypeError("a tool was not called: write await tools.NAME({...})");
    // Many write a script as one function, and leave it to others to call it.
    if (job.script && typeof held === "function") held = await held(params);
  } catch (error) {
    isFailed = true;
    held = error;
  }
  isSettled = true;
}

/** Load the code, as every call would, and see whether the function is there then. */
function check() {
  const { code, function_name: name } = job;
  let text;
  try {
    text = prepare(job);
  } catch (error) {
    isFailed = true;
    held = error;
    isSettled = true;
    return;
  }
  const known = globalThis[name];
  try {
    evaluateProgram(text);
  } catch {
    isFailed = true; // it may need what only a call has
  }
  held = () => {
    const entry = entryFunction();
    return (entry !== undefined && entry !== known) || (isFailed && definesAtTop(name, scan(code).tokens));
  };
  isSettled = true;
}

function failure([name, message, stack]) {
  return (
    `{"type":"failure","name":${quote(name)},"message":${quote(message)},"stack":${quote(stack)},` +
    `"libraries":[${libraryNames}],"is_parsed":${isParsed},"has_columns":${hasColumns}}`
  );
}

/** What to tell the caller; where the memory was used up, the engine often has none left to say so. */
function outcome(isMemoryFull) {
  if (isMemoryFull && (!isSettled || (isFailed && held === null))) return failure(["InternalError", "out of memory", ""]);
  if (!isSettled) return '{"type":"stalled"}';
  if (job.is_check && typeof held === "function") return `{"type":"checked","is_defined":${held()}}`;
  if (isFailed) return failure(failureFields(held));
  const missed = unobservedFailure();
  if (missed !== null) return failure(["ToolError", missed, ""]);
  if (timerFailures.length > 0) return failure(failureFields(timerFailures[0]));
  let text;
  try {
    text = resultText(held);
  } catch (error) {
    const [name, message, stack] = failureFields(error);
    return failure([name, `the value cannot be written as JSON: ${message}`, stack]);
  }
  if (text.length > job.result_characters) {
    return failure(["RangeError", `the value has ${text.length} characters as JSON, more than ${job.result_characters}`, ""]);
  }
  return `{"type":"result","json":${quote(text)},"is_undefined":${held === undefined}}`;
}

/** What the worker calls: returns 1 while the program waits for a reply, 0 when nothing more will happen. */
return (command, id, text) => {
  if (command === "run") {
    job = parse(text);
    if (job.code.startsWith("#!")) job.code = `//${job.code.slice(2)}`; // only at the very beginning it is a comment
    install(job);
    if (job.is_check) check();
    else run();
  } else if (command === "deliver") {
    deliver(id, text);
  } else if (command === "finish") {
    send(outcome(id === 1));
  }
  // Timers that are still open at the end of the program concern nothing any more.
  return openRequests > (isSettled ? openSleeps : 0) ? 1 : 0;
};
