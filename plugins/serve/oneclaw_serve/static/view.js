// Elements of a conversation. Only HTML that the server has sanitised becomes HTML; all else is text.

const policy = globalThis.trustedTypes?.createPolicy("oneclaw", { createHTML: (html) => html });

export function setHtml(element, html) { element.innerHTML = policy ? policy.createHTML(html) : html; }

export function make(tag, options = {}, ...children) {
  const { dataset, ...rest } = options;
  const element = Object.assign(document.createElement(tag), rest);
  Object.assign(element.dataset, dataset ?? {});
  element.append(...children);
  return element;
}

export function userMessage(text, files = []) {
  const element = make("div", { className: "user" }, make("span", { className: "hidden" }, "You: "), text);
  for (const file of files) element.append(make("div", { className: "notice" }, `Attached: ${file}`));
  return element;
}

export function answer(html = "") {
  const done = make("div"), rest = make("div");
  setHtml(done, html);
  const element = make("article", {}, done, rest);
  element.grow = (finished, last) => {
    if (finished) {
      const block = make("div");
      setHtml(block, finished);
      done.append(block);
    }
    setHtml(rest, last);
  };
  return element;
}

export function toolCall(name, input) {
  const state = make("span", { className: "notice" }, " is running");
  const output = make("pre");
  const shown = typeof input === "string" ? input : JSON.stringify(input, null, 2);
  const element = make("details", {}, make("summary", {}, name, state), make("pre", {}, shown ?? ""), output);
  element.progress = (text) => { state.textContent = ` ${text}`; };
  element.finish = (status, text, milliseconds) => {
    const seconds = milliseconds == null ? "" : `, ${(milliseconds / 1000).toFixed(1)} s`;
    state.textContent = status === "success" ? ` done${seconds}` : ` failed${seconds}`;
    state.className = status === "success" ? "notice" : "failed";
    output.textContent = text;
  };
  return element;
}

const LABELS = { once: "Allow once", session: "Allow in this session", always: "Always allow", no: "No", never: "Never" };

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
      onclick: () => decide(question.id, choice.answer) }, LABELS[choice.answer] ?? choice.answer));
  }
  element.append(actions);
  element.decided = (given) => shrink(element, LABELS[given] ?? given);
  return element;
}

export function userQuestion(question, decide) {
  const element = make("section", { className: "question" }, make("h2", {}, question.question));
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

export function notice(text, kind = "notice") { return make("p", { className: kind }, text); }
