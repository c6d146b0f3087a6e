// The page: login, the list of sessions, one conversation, the composer.

import { follow, request, Refused } from "./api.js";
import { answer, approval, commandAnswer, make, notice, sentFile, toolCall, userMessage, userQuestion, welcome } from "./view.js";

const $ = (id) => document.getElementById(id);
const state = { session: null, unfollow: null, opened: 0, running: false, text: null, calls: new Map(), results: new Map(), questions: new Map(), into: null, files: [],
  sent: false, groups: new Map(), editing: false, chosen: {} };

function say(text) { $("status").textContent = text; }

async function trying(work) {
  try { return await work(); } catch (error) {
    if (error instanceof Refused && error.status === 401) askToLogIn();
    else say(String(error.message));
    return undefined;
  }
}

function askToLogIn(problem = "") {
  state.unfollow?.();
  document.title = "Log in - OneClaw";
  document.body.className = "strange";
  $("login").hidden = false;
  $("login-problem").textContent = problem;
  $("login-title").focus();
}

function isAtEnd() { return $("log").scrollHeight - $("log").scrollTop - $("log").clientHeight < 80; }

function goToEnd() { $("log").scrollTop = $("log").scrollHeight; $("end").hidden = true; }

/** Change the log; its end stays in sight if it was. */
function changing(work) {
  const follows = isAtEnd(), made = work();
  if (follows) goToEnd();
  $("end").hidden = isAtEnd();
  return made;
}

function add(element) {
  return changing(() => {
    $("log").querySelector(".welcome")?.remove();
    (state.into ?? $("log")).append(element);
    return element;
  });
}

function setRunning(running) {
  state.running = running;
  changing(() => { $("stop").hidden = !running; showEdit(); });
  $("log").setAttribute("aria-busy", String(running));
}

function showEdit() { $("edit").hidden = state.running || state.editing || !$("log").querySelector(".user"); }

function setEditing(editing) {
  state.editing = editing;
  $("editing").hidden = !editing;
  showEdit();
}

function ask(question, element) {
  state.questions.set(question.id, add(element));
  const call = [...state.calls.values()].find((each) => each.name === question.tool && !each.isDone && !each.waits);
  call?.wait(true);
  element.call = call;
  say("The agent waits for your answer.");
}

function decided(event) {
  const element = state.questions.get(event.id);
  if (!element) return;
  state.questions.delete(event.id);
  element.call?.wait(false);
  changing(() => element.decided(event.answer));
  if (!state.questions.size) say("");
}

async function decide(id, given) {
  await trying(() => request("POST", `/api/approvals/${id}`, { answer: given }));
}

/** End a call; files for the user stand below it, all others in it. */
function finish(id, status, text, milliseconds, files) {
  const call = state.calls.get(id);
  if (!call) { state.results.set(id, [status, text, milliseconds, files]); return; }
  changing(() => call.finish(status, text, milliseconds, files.filter((each) => !each.isForUser)));
  for (const each of files) if (each.isForUser) add(sentFile(each));
}

const handlers = {
  turn_started(event) {
    state.text = null;
    $("retry").hidden = true;
    setRunning(true);
    say("");
    if (event.text) add(userMessage(event.text, filesOf(event)));
    // What one has sent is in sight, wherever one was reading.
    if (state.sent) goToEnd();
    state.sent = false;
  },
  text(event) {
    state.text ??= add(answer());
    changing(() => state.text.grow(event.text, event.html_done, event.html_rest));
  },
  text_withdrawn() {
    state.text?.remove();
    state.text = null;
  },
  tool_call(event) {
    const script = event.parent && state.calls.get(event.parent);
    if (script) {
      state.calls.set(event.id, script.addCall(toolCall(event.name, event.arguments)));
      return;
    }
    state.text = null;
    state.calls.set(event.id, add(toolCall(event.name, event.arguments)));
  },
  tool_progress(event) { state.calls.get(event.id)?.progress(event.message); },
  tool_result(event) {
    const shown = event.status === "success" ? event.result : event.error_message;
    finish(event.id, event.status, typeof shown === "string" ? shown : JSON.stringify(shown, null, 2), event.duration_ms, filesOf(event));
  },
  group_loaded(event) { add(notice(`Loaded the tool group ${event.group}`)); },
  steered(event) { state.text = null; add(userMessage(event.text)); },
  notice(event) { add(notice(event.text)); },
  compacted() { add(notice("Earlier messages were summarised for the model.")); },
  retry(event) { say(`${event.reason}; trying again`); },
  model_switched(event) { say(`${event.reason}; asking ${event.model}`); },
  approval(event) { ask(event, approval(event, decide)); },
  question(event) { ask(event, userQuestion(event, decide)); },
  approval_decided: decided,
  question_decided: decided,
  turn_ended(event) {
    setRunning(false);
    for (const each of state.calls.values()) each.stop();
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
    if (message.type === "user") add(userMessage(message.text, filesOf(message), message.not_sent));
    else if (message.type === "assistant") { if (message.text) add(answer(message.html)); }
    else if (message.type === "tool_call") {
      const call = add(toolCall(message.tool, message.arguments));
      state.calls.set(message.call, call);
      for (const each of message.calls ?? []) {
        const inner = call.addCall(toolCall(each.tool, each.arguments));
        inner.finish(each.status, each.result ?? "It is not known how this call ended.", each.duration_ms);
      }
      const result = state.results.get(message.call);
      if (result) finish(message.call, ...result);
    }
    else finish(message.call, message.status, message.text, message.duration_ms, filesOf(message));
  }
}

/** Files of a message of the history, or of an event. */
function filesOf(message) {
  return (message.attachments ?? message.files ?? []).map((each, index) => ({ name: each.name, type: each.media_type,
    size: each.size, isForUser: each.is_for_user,
    address: message.sequence && `/api/sessions/${state.session}/files/${message.sequence}/${index}` }));
}

/** Offer what was said before the first message that is shown. */
function offerEarlier(session, history) {
  if (!history.has_earlier) return;
  const button = make("button", { type: "button", className: "earlier" }, "Show earlier messages");
  button.addEventListener("click", () => trying(async () => {
    const found = await request("GET", `${past(session)}&before=${history.messages[0].sequence}`);
    if (session !== state.session || !button.isConnected) return;
    const fragment = document.createDocumentFragment(), height = $("log").scrollHeight;
    state.into = fragment;
    try { show(found.messages); } finally { state.into = null; }
    button.replaceWith(fragment);
    offerEarlier(session, found);
    $("log").scrollTop += $("log").scrollHeight - height;
  }));
  $("log").prepend(button);
}

function past(session) { return `/api/sessions/${session}/messages?html=1&limit=100`; }

async function open(session) {
  const opened = ++state.opened;
  state.unfollow?.();
  const history = await trying(() => request("GET", past(session)));
  if (!history || opened !== state.opened) return;
  Object.assign(state, { session, text: null, calls: new Map(), results: new Map(), questions: new Map() });
  $("log").replaceChildren();
  show(history.messages);
  offerEarlier(session, history);
  setEditing(false);
  setRunning(history.is_running);
  const last = history.messages.at(-1);
  $("retry").hidden = history.is_running || !last || last.type === "assistant";
  goToEnd();
  window.history.replaceState(null, "", `#session=${session}`);
  state.unfollow = follow(session, history.cursor, (event) => handlers[event.event]?.(event));
  closeMenu();
  await trying(about);
  await list();
}

async function about() {
  const found = await request("GET", `/api/sessions/${state.session}`);
  $("title").textContent = found.name ?? found.title ?? "OneClaw";
  $("session-actions").hidden = false;
  $("prompt").href = `/manage/prompt?session=${state.session}`;
  document.title = `${$("title").textContent} - OneClaw`;
  const parts = [found.agent, found.current_model];
  if (found.context_share) parts.push(`context ${Math.round(found.context_share * 100)}%`);
  if (found.cost) parts.push(`$${found.cost.toFixed(4)}`);
  if (found.groups.length) parts.push(`groups: ${(await Promise.all(found.groups.map(groupCost))).join(", ")}`);
  $("about").textContent = parts.join(" · ");
}

async function groupCost(name) {
  if (!state.groups.has(name)) {
    for (const each of (await request("GET", "/api/groups")).groups) state.groups.set(each.name, each.estimated_tokens);
  }
  return state.groups.get(name) ? `${name} (${state.groups.get(name)} tokens)` : name;
}

async function list() {
  const query = $("search").value.trim();
  const found = await trying(() => request("GET", `/api/sessions?limit=100&q=${encodeURIComponent(query)}`));
  if (!found) return false;
  $("sessions").replaceChildren(...found.sessions.map((each) => {
    const button = make("button", { type: "button", onclick: () => open(each.id) }, each.name ?? each.title ?? "Untitled");
    if (each.name && each.title) button.append(" ", make("small", {}, each.title));
    if (each.id === state.session) button.setAttribute("aria-current", "true");
    return make("li", {}, button);
  }));
  return true;
}

function begin() {
  state.opened++;
  state.unfollow?.();
  Object.assign(state, { session: null, unfollow: null, text: null, chosen: {} });
  $("log").replaceChildren(welcome());
  $("title").textContent = "New session";
  document.title = "New session - OneClaw";
  $("about").textContent = "";
  $("session-actions").hidden = true;
  $("retry").hidden = true;
  $("end").hidden = true;
  say("");
  setEditing(false);
  setRunning(false);
  window.history.replaceState(null, "", "#");
  closeMenu();
  $("text").focus();
}

async function rename() {
  const name = prompt("New name of the session", $("title").textContent)?.trim();
  if (!name) return;
  await trying(async () => { await request("PATCH", `/api/sessions/${state.session}`, { name }); await about(); await list(); });
}

async function remove() {
  if (!confirm(`Delete the session ${$("title").textContent} with its history?`)) return;
  await trying(async () => { await request("DELETE", `/api/sessions/${state.session}`, {}); begin(); await list(); });
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

/** Do what a line with a slash says; return false if it is a message. */
async function command(text) {
  const line = { text, session: state.session, ...state.chosen, confirmed: [] };
  let found = await request("POST", "/api/commands", line);
  while (found.state === "question") {
    if (!confirm(found.text)) return true;
    line.confirmed.push(found.text);
    found = await request("POST", "/api/commands", line);
  }
  if (found.state === "message") return false;
  if (found.session) await open(found.session);
  else if (found.session === "") begin();
  if (!state.session) state.chosen = { agent: found.agent, model: found.model };
  if (found.text) { add(commandAnswer(text, found.text)); goToEnd(); }
  if (found.copy) { await navigator.clipboard.writeText(found.copy); say("The last answer is copied."); }
  if (found.send) { $("text").value = found.send; await send(); }
  else if (state.session) await about();
  return true;
}

async function send() {
  const text = $("text").value;
  if (!text.trim() && !state.files.length) return;
  await trying(async () => {
    if (text.startsWith("/") && !state.editing && await command(text)) { $("text").value = ""; return; }
    if (!state.session) {
      const made = await request("POST", "/api/sessions", { title: text.slice(0, 100) || "Files", ...state.chosen });
      await open(made.id);
    }
    state.sent = true;
    if (state.editing) {
      await request("POST", `/api/sessions/${state.session}/edit`, { text, attachments: state.files });
      setEditing(false);
    } else await post(text);
    $("text").value = "";
    state.files = [];
    await attach([]);
  });
}

async function post(text) {
  const sent = await request("POST", `/api/sessions/${state.session}/messages`, { text, attachments: state.files });
  if (sent.state === "steering") say("The agent reads this message after its next tool call.");
  if (sent.state === "waiting") say("This message is sent when the agent has answered.");
}

function edit() {
  $("text").value = [...$("log").querySelectorAll(".user")].at(-1).source;
  setEditing(true);
  $("text").focus();
}

$("composer").addEventListener("submit", (event) => { event.preventDefault(); send(); });
$("text").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) { event.preventDefault(); send(); }
});
$("stop").addEventListener("click", () => trying(() => request("POST", `/api/sessions/${state.session}/stop`, {})));
$("retry").addEventListener("click", () => trying(() => request("POST", `/api/sessions/${state.session}/resume`, {})));
$("edit").addEventListener("click", edit);
$("keep").addEventListener("click", () => { $("text").value = ""; setEditing(false); $("text").focus(); });
$("end").addEventListener("click", goToEnd);
for (const kind of ["scroll", "toggle"]) $("log").addEventListener(kind, () => { $("end").hidden = isAtEnd(); }, true);
$("rename").addEventListener("click", rename);
$("delete").addEventListener("click", remove);
$("new").addEventListener("click", begin);
$("search").addEventListener("input", () => { clearTimeout(state.timer); state.timer = setTimeout(list, 200); });
$("menu").addEventListener("click", () => {
  $("menu").setAttribute("aria-expanded", String($("sidebar").classList.toggle("open")));
});
$("logout").addEventListener("click", () => trying(async () => { await request("POST", "/logout", {}); location.reload(); }));
$("attach").addEventListener("change", (event) => { attach(event.target.files); event.target.value = ""; });
document.addEventListener("dragover", (event) => event.preventDefault());
document.addEventListener("drop", (event) => { event.preventDefault(); attach(event.dataTransfer.files); });

async function showNotices() {
  const { notices } = await request("GET", "/api/notices");
  $("notices").replaceChildren(...notices.map((each) => make("li", {}, each.page ? make("a", { href: each.page }, each.text) : each.text)));
  $("notices").hidden = !notices.length;
}

async function start() {
  const [kind, value] = location.hash.slice(1).split("=");
  let problem = "";
  if (kind === "code") {
    window.history.replaceState(null, "", "#");
    try { await request("POST", "/login", { code: value }); } catch (error) { problem = error.message; }
  }
  if (!(await list())) { if (problem) askToLogIn(problem); return; }
  document.body.className = "";
  trying(showNotices);
  if (kind === "session" && /^[0-9a-f]{32}$/.test(value)) await open(value); else begin();
}

// A link that is opened where the page is shown already changes only the hash.
window.addEventListener("hashchange", () => { if (location.hash.startsWith("#code=")) location.reload(); });
start();
