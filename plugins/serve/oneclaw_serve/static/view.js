// Elements of a conversation. Only HTML that the server has sanitised becomes HTML; all else is text.

const policy = globalThis.trustedTypes?.createPolicy("oneclaw", { createHTML: (html) => html });

export function setHtml(element, html) {
  element.innerHTML = policy ? policy.createHTML(html) : html;
  for (const block of element.querySelectorAll("pre")) {
    const copy = make("button", { type: "button", onclick: async () => {
      await navigator.clipboard.writeText(block.textContent);
      copy.textContent = "Copied";
    } }, "Copy");
    const frame = make("div", { className: "code" });
    block.replaceWith(frame);
    frame.append(block, copy);
  }
}

export function make(tag, options = {}, ...children) {
  const { dataset, ...rest } = options;
  const element = Object.assign(document.createElement(tag), rest);
  Object.assign(element.dataset, dataset ?? {});
  element.append(...children);
  return element;
}

export function welcome() {
  return make("div", { className: "welcome" }, make("h2", {}, "How can I help?"),
    make("p", {}, "Enter sends the message, Shift+Enter begins a new line. Drop files here to attach them. /help lists the commands."));
}

// A line of a message for a file that no model looks at.
const STORED = /\n*^\[file (\S+ \([^()]*\)) is stored as (.+)\]$/gm;

/** A message of the user; each file has a name, and an address and a type if the server has it; `notSent` is why it goes to no model. */
export function userMessage(text, files = [], notSent = null) {
  const stored = [...text.matchAll(STORED)], words = text.replace(STORED, "");
  const element = make("div", { className: "user" }, make("span", { className: "hidden" }, "You: "), words);
  element.source = words;
  if (notSent) element.append(make("div", { className: "notice", title: notSent }, "Not sent: the model service refused it"));
  for (const each of stored) element.append(make("div", { className: "notice", title: each[2] }, `Attached: ${each[1]}`));
  for (const file of files) {
    element.append(make("div", { className: "notice" }, "Attached: ", file.address ? link(file) : file.name), ...picture(file));
  }
  return element;
}

function link(file) { return make("a", { href: file.address, download: file.name }, file.name); }

function picture(file) {
  return file.address && /^image\/(png|jpeg|gif|webp)$/.test(file.type) ? [make("img", { src: file.address, alt: file.name })] : [];
}

function size(bytes) {
  return bytes < 1000 ? `${bytes} bytes` : bytes < 1e6 ? `${(bytes / 1000).toFixed(1)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}

/** A file that a tool sends to the user. */
export function sentFile(file) {
  return make("div", { className: "file" }, ...picture(file), make("span", { className: "hidden" }, "File: "), link(file),
    make("span", { className: "notice" }, ` ${size(file.size)}`));
}

// Where text goes on that is not rendered yet.
function end(element) {
  const last = element.lastElementChild;
  return last?.matches("p, ul, ol, li, blockquote, pre, pre code, h1, h2, h3, h4, h5, h6") ? end(last) : element;
}

export function answer(html = "") {
  const done = make("div"), rest = make("div");
  setHtml(done, html);
  const element = make("article", {}, done, rest);
  element.grow = (text, finished, last) => {
    if (last === null) {
      end(rest).append(text);
      return;
    }
    if (finished) {
      const block = make("div");
      setHtml(block, finished);
      done.append(block);
    }
    setHtml(rest, last);
  };
  return element;
}

// The history has arguments as text, events have them as values.
function purposeOf(input) {
  try {
    const purpose = (typeof input === "string" ? JSON.parse(input) : input)?.purpose;
    return typeof purpose === "string" ? purpose : "";
  } catch {
    return "";
  }
}

export function toolCall(name, input) {
  const state = make("span", { className: "notice" }, " is running");
  const output = make("pre"), result = make("div", { hidden: true }, make("p", { className: "label" }, "Result"), output);
  const shown = typeof input === "string" ? input : JSON.stringify(input, null, 2);
  const calls = make("div", { hidden: true }, make("p", { className: "label" }, "Calls"));
  const said = purposeOf(input);
  const purpose = said ? make("span", {}, ` ${said}`) : "";
  const element = make("details", {}, make("summary", {}, make("code", {}, name), purpose, state), calls,
    make("div", {}, make("p", { className: "label" }, "Arguments"), make("pre", {}, shown ?? "")), result);
  const say = (text, kind = "notice") => { state.textContent = ` ${text}`; state.className = kind; };
  element.name = name;
  element.progress = (text) => say(text);
  element.addCall = (call) => {
    calls.hidden = false;
    calls.append(call);
    return call;
  };
  element.wait = (waits) => {
    if (element.isDone) return;
    element.waits = waits;
    say(waits ? "waits for your answer" : "is running", waits ? "waits" : "notice");
  };
  element.stop = () => {
    if (element.isDone) return;
    element.isDone = true;
    say("stopped");
  };
  element.finish = (status, text, milliseconds, files = []) => {
    const seconds = milliseconds == null ? "" : `, ${(milliseconds / 1000).toFixed(1)} s`;
    element.isDone = true;
    element.waits = false;
    say(status === "success" ? `done${seconds}` : `failed${seconds}`, status === "success" ? "notice" : "failed");
    output.textContent = text;
    for (const each of files) result.append(make("p", {}, link(each)), ...picture(each));
    result.hidden = false;
  };
  return element;
}

const LABELS = { once: "Allow once", script: "Allow for the rest of this script", session: "Allow in this session", always: "Always allow", no: "No", never: "Never" };

/** Leave one line of a question that was answered or withdrawn. */
function shrink(element, given) {
  const title = element.querySelector("h2").textContent;
  element.className = "notice";
  element.replaceChildren(`${title} ${given || "Withdrawn"}`);
}

export function approval(question, decide) {
  const facts = make("dl");
  for (const fact of question.facts) facts.append(make("dt", {}, fact.label), make("dd", {}, fact.text));
  const by = question.meaning_by ? ` (says the plugin ${question.meaning_by})` : "";
  const meaning = question.meaning ? `: ${question.meaning}${by}` : "";
  const element = make("section", { className: "question" },
    make("h2", {}, `Allow ${question.tool}?`), make("p", {}, question.permission + meaning), facts);
  element.setAttribute("aria-label", "Question for a permission");
  for (const choice of question.choices) {
    if (choice.grants) element.append(make("p", { className: "notice" }, `${LABELS[choice.answer]}: ${choice.grants}`));
  }
  const actions = make("div", { className: "actions" });
  for (const choice of question.choices) {
    actions.append(make("button", { type: "button", dataset: { answer: choice.answer },
      className: choice.answer === "once" ? "main-button" : "",
      onclick: () => decide(question.id, choice.answer) }, LABELS[choice.answer] ?? choice.answer));
  }
  element.append(actions);
  element.decided = (given) => shrink(element, LABELS[given] ?? given);
  return element;
}

export function userQuestion(question, decide) {
  const element = make("section", { className: "question" }, make("h2", {}, question.question));
  element.setAttribute("aria-label", "Question of the agent");
  const actions = make("div", { className: "actions" });
  for (const choice of question.choices) {
    actions.append(make("button", { type: "button", onclick: () => decide(question.id, choice) }, choice));
  }
  if (question.allows_text) {
    const input = make("input", { type: "text", ariaLabel: "Your answer" });
    actions.append(input, make("button", { type: "button", onclick: () => decide(question.id, input.value) }, "Answer"));
  }
  element.append(actions);
  element.decided = (given) => shrink(element, given);
  return element;
}

/** What a command answered; its lines have columns. */
export function commandAnswer(command, text) {
  return make("div", { className: "command" }, make("code", {}, command), make("pre", {}, text));
}

export function notice(text, kind = "notice") { return make("p", { className: kind }, text); }
