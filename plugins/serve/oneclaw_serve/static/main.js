// The page: login, the list of sessions, one conversation, the composer.

import { follow, request, Refused } from "./api.js";
import { answer, approval, make, notice, toolCall, userMessage, userQuestion } from "./view.js";

const $ = (id) => document.getElementById(id);
const state = { session: null, unfollow: null, opened: 0, running: false, text: null, calls: new Map(), questions: new Map(), files: [] };

function say(text) { $("status").textContent = text; }

async function trying(work) {
  try { return await work(); } catch (error) {
    say(error instanceof Refused && error.status === 401
      ? "You are not logged in. Open the link that this prints: oneclaw serve link" : String(error.message));
    return undefined;
  }
}

function add(element) {
  const log = $("log"), atEnd = log.scrollHeight - log.scrollTop - log.clientHeight < 80;
  log.append(element);
  if (atEnd) log.scrollTop = log.scrollHeight;
  return element;
}

function setRunning(running) {
  state.running = running;
  $("stop").hidden = !running;
  $("log").setAttribute("aria-busy", String(running));
}

async function decide(id, given) {
  await trying(() => request("POST", `/api/approvals/${id}`, { answer: given }));
}

const handlers = {
  turn_started(event) {
    state.text = null;
    $("retry").hidden = true;
    setRunning(true);
    say("");
    if (event.text) add(userMessage(event.text));
  },
  text(event) {
    state.text ??= add(answer());
    const log = $("log"), atEnd = log.scrollHeight - log.scrollTop - log.clientHeight < 80;
    state.text.grow(event.html_done, event.html_rest);
    if (atEnd) log.scrollTop = log.scrollHeight;
  },
  tool_call(event) {
    state.text = null;
    state.calls.set(event.id, add(toolCall(event.name, event.arguments)));
  },
  tool_progress(event) { state.calls.get(event.id)?.progress(event.message); },
  tool_result(event) {
    const shown = event.status === "success" ? event.result : event.error_message;
    state.calls.get(event.id)?.finish(event.status, typeof shown === "string" ? shown : JSON.stringify(shown, null, 2), event.duration_ms);
  },
  group_loaded(event) { add(notice(`Loaded the tool group ${event.group}`)); },
  steered(event) { state.text = null; add(userMessage(event.text)); },
  compacted() { add(notice("Earlier messages were summarised for the model.")); },
  retry(event) { say(`${event.reason}; trying again`); },
  model_switched(event) { say(`${event.reason}; asking ${event.model}`); },
  approval(event) { state.questions.set(event.id, add(approval(event, decide))); },
  question(event) { state.questions.set(event.id, add(userQuestion(event, decide))); },
  approval_decided(event) { state.questions.get(event.id)?.decided(event.answer); },
  question_decided(event) { state.questions.get(event.id)?.decided(event.answer); },
  turn_ended(event) {
    setRunning(false);
    if (event.status !== "finished") {
      add(notice(event.error ?? "The turn was stopped.", "failed"));
      $("retry").hidden = false;
    }
    trying(async () => { await about(); await list(); });
  },
  reset() { open(state.session); },
};

function show(messages) {
  for (const message of messages) {
    if (message.type === "user") add(userMessage(message.text, (message.attachments ?? []).map((each) => each.name)));
    else if (message.type === "assistant") { if (message.text) add(answer(message.html)); }
    else if (message.type === "tool_call") state.calls.set(message.call, add(toolCall(message.tool, message.arguments)));
    else state.calls.get(message.call)?.finish(message.status, message.text, message.duration_ms);
  }
}

async function open(session) {
  const opened = ++state.opened;
  state.unfollow?.();
  const history = await trying(() => request("GET", `/api/sessions/${session}/messages?html=1`));
  if (!history || opened !== state.opened) return;
  Object.assign(state, { session, text: null, calls: new Map(), questions: new Map() });
  $("log").replaceChildren();
  setRunning(history.is_running);
  show(history.messages);
  const last = history.messages.at(-1);
  $("retry").hidden = history.is_running || !last || last.type === "assistant";
  $("log").scrollTop = $("log").scrollHeight;
  window.history.replaceState(null, "", `#session=${session}`);
  state.unfollow = follow(session, history.cursor, (event) => handlers[event.event]?.(event));
  closeMenu();
  await trying(about);
  await list();
}

async function about() {
  const found = await request("GET", `/api/sessions/${state.session}`);
  $("title").textContent = found.title ?? found.name ?? "OneClaw";
  document.title = `${$("title").textContent} - OneClaw`;
  const cost = found.cost ? `, $${found.cost.toFixed(4)}` : "";
  const groups = found.groups.length ? `, groups: ${found.groups.join(", ")}` : "";
  $("about").textContent = `${found.agent}, ${found.current_model}${groups}${cost}`;
}

async function list() {
  const query = $("search").value.trim();
  const found = await trying(() => request("GET", `/api/sessions?limit=100&q=${encodeURIComponent(query)}`));
  if (!found) return false;
  $("sessions").replaceChildren(...found.sessions.map((each) => {
    const button = make("button", { type: "button", onclick: () => open(each.id) }, each.title ?? each.name ?? "Untitled");
    if (each.id === state.session) button.setAttribute("aria-current", "true");
    return make("li", {}, button);
  }));
  return true;
}

function begin() {
  state.opened++;
  state.unfollow?.();
  Object.assign(state, { session: null, unfollow: null, text: null });
  $("log").replaceChildren();
  $("title").textContent = "New session";
  $("about").textContent = "";
  $("retry").hidden = true;
  setRunning(false);
  window.history.replaceState(null, "", "#");
  closeMenu();
  $("text").focus();
}

function closeMenu() { $("sidebar").classList.remove("open"); $("menu").setAttribute("aria-expanded", "false"); }

function readFile(file) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve({ name: file.name, media_type: file.type || "application/octet-stream", data: reader.result.split(",")[1] ?? "" });
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(file);
  });
}

async function attach(files) {
  state.files.push(...await Promise.all([...files].map(readFile)));
  $("files").replaceChildren(...state.files.map((each) => make("li", {}, each.name, " ", make("button", { type: "button",
    onclick: () => { state.files = state.files.filter((other) => other !== each); attach([]); } }, `Remove ${each.name}`))));
}

async function send() {
  const text = $("text").value;
  if (!text.trim() && !state.files.length) return;
  await trying(async () => {
    if (!state.session) {
      const made = await request("POST", "/api/sessions", { title: text.slice(0, 100) || "Files" });
      await open(made.id);
    }
    const sent = await request("POST", `/api/sessions/${state.session}/messages`, { text, attachments: state.files });
    if (sent.state === "steering") say("The agent reads this message after its next tool call.");
    $("text").value = "";
    state.files = [];
    await attach([]);
  });
}

$("composer").addEventListener("submit", (event) => { event.preventDefault(); send(); });
$("text").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) { event.preventDefault(); send(); }
});
$("stop").addEventListener("click", () => trying(() => request("POST", `/api/sessions/${state.session}/stop`, {})));
$("retry").addEventListener("click", () => trying(() => request("POST", `/api/sessions/${state.session}/resume`, {})));
$("new").addEventListener("click", begin);
$("search").addEventListener("input", () => { clearTimeout(state.timer); state.timer = setTimeout(list, 200); });
$("menu").addEventListener("click", () => {
  $("menu").setAttribute("aria-expanded", String($("sidebar").classList.toggle("open")));
});
$("logout").addEventListener("click", () => trying(async () => { await request("POST", "/logout", {}); location.reload(); }));
$("attach").addEventListener("change", (event) => { attach(event.target.files); event.target.value = ""; });
document.addEventListener("dragover", (event) => event.preventDefault());
document.addEventListener("drop", (event) => { event.preventDefault(); attach(event.dataTransfer.files); });

async function start() {
  const [kind, value] = location.hash.slice(1).split("=");
  if (kind === "code") {
    window.history.replaceState(null, "", "#");
    await trying(() => request("POST", "/login", { code: value }));
  }
  if (!(await list())) return;
  if (kind === "session" && /^[0-9a-f]{32}$/.test(value)) await open(value); else begin();
}

start();
