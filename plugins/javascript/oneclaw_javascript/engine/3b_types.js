// Turning what models write into JavaScript: without a Markdown fence, imports and exports, and the types of TypeScript.
// What is removed becomes blanks, so that places in errors stay. Where this is mistaken, the engine does not compile what
// is made of it, and the error is that of the code as it was written.

const blank = (text) => text.replace(/[^\n]/g, " ");

function withoutFence(code) {
  const match = /^(\s*(?:```|~~~)[\w-]*[ \t]*)\n([^]*?)\n([ \t]*(?:```|~~~)\s*)$/.exec(code);
  return match === null ? code : `${blank(match[1])}\n${match[2]}\n`;
}

function withoutModules(code) {
  return code
    .replace(/^([ \t]*)import\s*(\{[^}]*\})\s*from\s*["'](?:\.\/|@)?(?:tools|code-?mode)[\w/.-]*["'];?/gm, "$1const $2 = tools;")
    .replace(/^([ \t]*)import\s*\*?\s*(?:as\s+)?tools\s+from\s*["'][^"'\n]*["'];?/gm, blank)
    .replace(/^([ \t]*)export\s+default\s+(?=async\b|function\b|\()/gm, "$1return ")
    .replace(/^([ \t]*)export\s+(?=async\b|function\b|const\b|let\b|class\b)/gm, "$1");
}

const TYPE_NAME = /(?:typeof\s+|keyof\s+|readonly\s+|unique\s+)*[A-Za-z_$][\w$.]*/y;

/** Where a type ends that begins at a position, or -1 if there is none. */
function endOfType(source, start) {
  let position = start;
  const skip = (pattern) => {
    pattern.lastIndex = position;
    const found = pattern.exec(source);
    if (found !== null) position += found[0].length;
    return found !== null;
  };
  const one = () => {
    skip(/\s*\|?\s*/y);
    const first = source[position];
    if (first === "{" || first === "[" || first === "(") {
      const end = closing(source, position);
      if (end < 0) return false;
      position = end;
      if (first === "(" && skip(/\s*=>\s*/y)) return whole();
    } else if (!skip(/"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|-?\d[\w.]*/y)) {
      if (!skip(TYPE_NAME)) return false;
      if (source[position] === "<") {
        const end = closing(source, position);
        if (end < 0) return false;
        position = end;
      }
    }
    while (source[position] === "[") {
      const end = closing(source, position);
      if (end < 0) return false;
      position = end;
    }
    return true;
  };
  const whole = () => {
    if (!one()) return false;
    while (skip(/\s*(?:\||&(?!&)|\bextends\b|\bis\b)(?!\|)\s*/y)) if (!one()) return false;
    return true;
  };
  skip(/\s*/y);
  return whole() ? position : -1;
}

const PAIRS = { "{": "}", "[": "]", "(": ")", "<": ">" };

/** Where what opens at a position is closed again, or -1. */
function closing(source, start) {
  const open = [];
  for (let position = start; position < source.length; position += 1) {
    const mark = source[position];
    if (mark === '"' || mark === "'") {
      const end = source.indexOf(mark, position + 1);
      if (end < 0) return -1;
      position = end;
    } else if (mark in PAIRS && (mark !== "<" || source[start] === "<")) open.push(PAIRS[mark]);
    else if (mark === open.at(-1) && !(mark === ">" && source[position - 1] === "=")) {
      open.pop();
      if (open.length === 0) return position + 1;
    } else if (mark === ";" && open.at(-1) === ">") return -1;
  }
  return -1;
}

/** What stands in texts and comments, so that nothing in it is taken for a type. */
function maskOf(source) {
  return source.replace(
    /\/\/[^\n]*|\/\*[^]*?\*\/|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\[^])*`/g,
    (text) => (text[0] === "/" ? blank(text) : `${text[0]}${text.slice(1, -1).replace(/[^\n]/g, "_")}${text[0]}`),
  );
}

function withoutTypes(source) {
  let mask = maskOf(source);
  let text = source;
  const remove = (start, end) => {
    text = text.slice(0, start) + blank(text.slice(start, end)) + text.slice(end);
    mask = mask.slice(0, start) + blank(mask.slice(start, end)) + mask.slice(end);
  };
  const each = (pattern, act) => {
    for (let found; (found = pattern.exec(mask)) !== null; ) act(found);
  };
  // interface X {...}, type X = ...;, import type, declare
  each(/(?<=^|[\n;{}])[ \t]*(?:export\s+)?(?:declare\s+)?interface\s+[\w$]+[^{]*(?=\{)/g, (found) => {
    const end = closing(mask, found.index + found[0].length);
    if (end > 0) remove(found.index, end);
  });
  each(/(?<=^|[\n;{}])[ \t]*(?:export\s+)?type\s+[\w$]+(?:<[^>]*>)?\s*=/g, (found) => {
    const end = endOfType(mask, found.index + found[0].length);
    if (end > 0) remove(found.index, mask[end] === ";" ? end + 1 : end);
  });
  each(/(?<=^|[\n;])[ \t]*import\s+type\b[^\n;]*;?/g, (found) => remove(found.index, found.index + found[0].length));
  // x as T, x satisfies T, x!
  each(/(?<=[\w$)\]}"'`!])\s+(?:as|satisfies)\s+/g, (found) => {
    const end = endOfType(mask, found.index + found[0].length);
    if (end > 0) remove(found.index, end);
  });
  each(/(?<=[\w$)\]])!(?=\s*(?:[.[;,)\]}\n]|$))/g, (found) => remove(found.index, found.index + 1));
  // f<T>(...), new Map<K, V>(), function f<T>(
  each(/(?<=[\w$])<(?=[A-Za-z_$[{"'\s])/g, (found) => {
    const end = closing(mask, found.index);
    if (end > 0 && /^\s*[(`]/.test(mask.slice(end))) remove(found.index, end);
  });
  // const x: T = ..., (a: T, b?: T) => ..., function f(): T {
  each(/\b(?:const|let|var)\s+(?:[\w$]+|\{[^{}]*\}|\[[^[\]]*\])\s*(:)/g, (found) => {
    const start = found.index + found[0].length - 1;
    const end = endOfType(mask, start + 1);
    if (end > 0 && /^\s*(?:=|;|\n|,|of\b|in\b)/.test(mask.slice(end))) remove(start, end);
  });
  each(/(?<=[\w$)}\]])(\?)?\s*:\s*/g, (found) => {
    const end = endOfType(mask, found.index + found[0].length);
    if (end < 0) return;
    const rest = mask.slice(end);
    const before = mask.slice(0, found.index);
    const isReturn = before.endsWith(")") && /^\s*(?:=>|\{)/.test(rest);
    if (isReturn || (/^\s*[,)=]/.test(rest) && isInParameters(mask, found.index))) remove(found.index, end);
  });
  each(/\b(?:public|private|protected|readonly|abstract)\s+(?=[\w$]+\s*[(:=;,)])/g, (found) => remove(found.index, found.index + found[0].length));
  return text;
}

/** Whether a position is within the parentheses of the parameters of a function. */
function isInParameters(source, place) {
  let depth = 0;
  for (let position = place - 1; position >= 0; position -= 1) {
    const mark = source[position];
    if (mark === ")" || mark === "]" || mark === "}") depth += 1;
    else if ((mark === "(" || mark === "[" || mark === "{") && depth > 0) depth -= 1;
    else if (mark === "{" || mark === "[") return false;
    else if (mark === "(") {
      const end = closing(source, position);
      return end > 0 && /^\s*(?:=>|\{|:)/.test(source.slice(end));
    }
  }
  return false;
}
