// Finding a program's last statement, and what it does with its main function, without parsing all of it. The engine
// gives the value of the last statement for a script, but a script cannot await: code that awaits runs as the body of
// a function, which has to return that value. Where this scanner is mistaken, the engine does not accept what is made
// of it, and the code runs without its last value.

const words = (text) => new Set(text.split(" "));
const WORD = /[\p{ID_Continue}$\u200c\u200d\\#@]+/uy;
const SPACE = /[\s\ufeff]+/y;
const LINE = /[^\n\r\u2028\u2029]*/y;
const LINE_END = /[\n\r\u2028\u2029]/;
const PUNCTUATOR = /=>|\+\+|--|\?\.|\.\.\.|[=!]==?|&&|\|\||\?\?|[^]/uy;
const CLOSING = { "(": ")", "[": "]", "{": "}" };

const BEFORE_REGEXP = words("return typeof instanceof in of new delete void throw case do else await yield");
const STATEMENT_WORDS = words(
  "if for while do switch try throw return var let const function class break continue import export debugger with",
);
const BLOCK_WORDS = words("if for while do switch try function class with");
const HEADER_WORDS = words("if for while with");
const GOES_ON = words("( [ ` . ?. , ; : ? = == === != !== => * / % & && | || ^ < > ?? + - ...");
const GOES_ON_WORDS = words("in instanceof else catch finally");

/**
 * Reads tokens: {kind, text, start, end, isNewLine, before, beforeThat}. `isNewLine` tells whether the token begins a
 * line. What stands in braces, brackets, parentheses or a template is one token, whose text is its first character. `before` and
 * `beforeThat` are the texts of the two tokens in front.
 */
class Scanner {
  constructor(source) {
    this.source = source;
    this.position = 0;
    this.nesting = [];
    this.braces = 0;
    this.isNewLine = false;
    this.previous = null;
    this.tokens = [];
    this.calls = new Set();
  }

  /** All tokens outside braces, brackets and parentheses; null if these do not match. */
  topTokens() {
    while (this.position < this.source.length) {
      if (!this.skipSpace() && !this.read()) return null;
    }
    return this.nesting.length === 0 ? this.tokens : null;
  }

  match(pattern, position = this.position, otherwise = undefined) {
    pattern.lastIndex = position;
    return pattern.exec(this.source)?.[0] ?? otherwise;
  }

  skipSpace() {
    const { source, position } = this;
    const space = this.match(SPACE);
    if (space !== undefined) {
      this.isNewLine ||= LINE_END.test(space);
      this.position += space.length;
    } else if (source.startsWith("//", position) || (position === 0 && source.startsWith("#!"))) {
      this.position += this.match(LINE).length;
    } else if (source.startsWith("/*", position)) {
      const end = source.indexOf("*/", position + 2);
      this.isNewLine ||= end >= 0 && LINE_END.test(source.slice(position, end));
      this.position = end < 0 ? source.length : end + 2;
    }
    return this.position > position;
  }

  read() {
    const first = this.source[this.position];
    const word = this.match(WORD);
    if (word !== undefined) return this.add("word", word, this.position + word.length);
    if (first === '"' || first === "'") return this.addUpTo(this.afterQuoted(first, this.position + 1));
    if (first === "`") return this.readTemplate(this.open("`"));
    if (first === "}" && this.nesting.at(-1)?.text === "`") return this.readTemplate(this.nesting.at(-1));
    if (first === "/" && !this.canDivide()) return this.addUpTo(this.afterRegExp());
    const mark = this.match(PUNCTUATOR);
    if (mark in CLOSING) return this.open(mark) !== null;
    if (mark === ")" || mark === "]" || mark === "}") return this.close(mark);
    return this.add(mark === "++" || mark === "--" ? "value" : "mark", mark, this.position + mark.length);
  }

  /** Where a token begins, and what is in front of it. */
  place() {
    const { position: start, isNewLine, previous } = this;
    return { start, isNewLine, before: previous?.text, beforeThat: previous?.before };
  }

  add(kind, text, end, place = this.place()) {
    this.previous = { ...place, kind, text, end };
    this.position = end;
    this.isNewLine = false;
    if (this.nesting.length === 0) this.tokens.push(this.previous);
    return true;
  }

  addUpTo(end) {
    return end > 0 && this.add("value", "value", end);
  }

  open(text) {
    if (text === "(" && this.braces === 0 && isCallable(this.previous)) this.calls.add(this.previous.text);
    if (text === "{") this.braces += 1;
    const opened = { text, place: this.place() };
    this.nesting.push(opened);
    this.position += 1;
    this.previous = null;
    this.isNewLine = false;
    return opened;
  }

  close(mark) {
    const opened = this.nesting.pop();
    if (opened === undefined || CLOSING[opened.text] !== mark) return false;
    if (mark === "}") this.braces -= 1;
    return this.add("nest", opened.text, this.position + 1, opened.place);
  }

  /** Read on in a template, from its beginning or from the end of one of its expressions. */
  readTemplate(template) {
    const { source } = this;
    let position = template.place.start === this.position - 1 ? this.position : this.position + 1;
    while (position < source.length && source[position] !== "`") {
      if (source.startsWith("${", position)) {
        this.position = position + 2;
        this.previous = null;
        return true;
      }
      position += source[position] === "\\" ? 2 : 1;
    }
    if (position >= source.length) return false;
    this.nesting.pop();
    return this.add("value", "`", position + 1, template.place);
  }

  afterQuoted(quoteMark, position) {
    const { source } = this;
    for (; position < source.length; position += 1) {
      if (source[position] === quoteMark) return position + 1;
      if (source[position] === "\\") position += 1;
    }
    return 0;
  }

  afterRegExp() {
    const { source } = this;
    let isClass = false;
    for (let position = this.position + 1; position < source.length && source[position] !== "\n"; position += 1) {
      if (source[position] === "\\") position += 1;
      else if (source[position] === "[") isClass = true;
      else if (source[position] === "]") isClass = false;
      else if (source[position] === "/" && !isClass) {
        return position + 1 + this.match(WORD, position + 1, "").length;
      }
    }
    return 0;
  }

  canDivide() {
    const { previous } = this;
    if (previous === null || previous.kind === "mark") return false;
    return previous.kind === "word" ? !BEFORE_REGEXP.has(previous.text) : !isHeader(previous);
  }
}

function isCallable(token) {
  return token?.kind === "word" && !["function", "*", "."].includes(token.before);
}

/** Whether a token is the parenthesis of an `if` or a loop, which needs a statement behind it. */
function isHeader(token) {
  const { kind, text, before, beforeThat } = token;
  return kind === "nest" && text === "(" && HEADER_WORDS.has(before === "await" ? beforeThat : before);
}

function isBlock(token) {
  return token.kind === "nest" && token.text === "{";
}

function endsStatement(statement, token) {
  const last = statement.at(-1);
  if (last.text === ";") return !GOES_ON_WORDS.has(token.text);
  if (GOES_ON_WORDS.has(token.text)) return false;
  const first = statement[0].text === "async" && statement.length > 1 ? statement[1] : statement[0];
  if (first.text === "do" && token.text === "while") return false;
  if (isBlock(last) && (BLOCK_WORDS.has(first.text) || isBlock(first))) return true;
  const isLoopEnd = first.text === "do" && last.before === "while";
  const canEnd = last.kind !== "mark" && last.text !== "else" && last.text !== "do" && (isLoopEnd || !isHeader(last));
  return token.isNewLine && canEnd && !GOES_ON.has(token.text);
}

function statementsOf(tokens) {
  const statements = [];
  for (const token of tokens) {
    if (statements.length === 0 || endsStatement(statements.at(-1), token)) statements.push([token]);
    else statements.at(-1).push(token);
  }
  return statements;
}

const isFunction = ([first, second]) =>
  first.text === "function" || (first.text === "async" && second?.text === "function");

/** The source with the value of its last statement returned, or null if that has none. */
function withLastValueReturned(source, tokens) {
  // Functions are there from the beginning, wherever they are defined.
  const last = statementsOf(tokens).findLast((each) => each[0].text !== ";" && !isFunction(each));
  if (last === undefined) return null;
  if (last[0].text === "if" || last[0].text === "try" || isBlock(last[0])) return withBlocksReturning(source, last);
  if (STATEMENT_WORDS.has(last[0].text)) return null;
  const { start } = last[0];
  const { end } = last.findLast((token) => token.text !== ";");
  return `${source.slice(0, start)}return (${source.slice(start, end)}\n);${source.slice(end)}`;
}

/** The source with the value of each block of a statement returned, or null if none has any. */
function withBlocksReturning(source, statement) {
  let text = "";
  let position = 0;
  statement.forEach((token, index) => {
    if (!isBlock(token) || !canGiveValue(statement[index - 1])) return;
    const inner = source.slice(token.start + 1, token.end - 1);
    const returning = withLastValueReturned(inner, scan(inner).tokens);
    if (returning === null) return;
    text += source.slice(position, token.start + 1) + returning;
    position = token.end - 1;
  });
  return position > 0 ? text + source.slice(position) : null;
}

/** Whether a block behind a token gives the statement its value: not that of a loop, nor that of `finally`. */
function canGiveValue(previous) {
  if (previous === undefined) return true;
  if (previous.kind === "nest") return previous.before === "if" || previous.before === "catch";
  return ["else", "try", "catch"].includes(previous.text);
}

/** Whether the code defines a name outside all braces, as far as can be seen without running it. */
function definesAtTop(name, tokens) {
  return tokens.some((token, index) => {
    if (token.kind !== "word" || token.text !== name) return false;
    const { before } = token;
    return before === "function" || before === "*" || (before !== "." && tokens[index + 1]?.text === "=");
  });
}

/** What can be seen of a program: its top tokens, and the names of the functions that it calls outside all braces. */
function scan(source) {
  try {
    const scanner = new Scanner(source);
    return { tokens: scanner.topTokens() ?? [], calls: scanner.calls };
  } catch {
    return { tokens: [], calls: new Set() }; // such as too little memory; the program runs all the same
  }
}
