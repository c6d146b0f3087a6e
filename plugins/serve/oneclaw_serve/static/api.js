// Requests to our own origin, and the stream of a session's events.

export class Refused extends Error {
  constructor(status, message) { super(message); this.status = status; }
}

export async function request(method, path, body) {
  const options = { method, credentials: "same-origin", headers: {} };
  if (body !== undefined) {
    options.headers["Content-Type"] = "application/json";
    options.body = JSON.stringify(body);
  }
  const response = await fetch(path, options);
  const answer = await response.json().catch(() => ({}));
  if (!response.ok) throw new Refused(response.status, answer.error?.message ?? response.statusText);
  return answer;
}

const KINDS = ["turn_started", "text", "text_withdrawn", "tool_call", "tool_progress", "tool_result", "group_loaded", "steered", "compacted",
  "retry", "model_switched", "turn_finished", "turn_ended", "approval", "approval_decided", "question",
  "question_decided", "notice", "reset"];

// Follow events behind a cursor. After an answer other than 200 the browser gives up: then begin again.
export function follow(session, cursor, onEvent) {
  let source = null, last = cursor, pause = 1000, timer = 0, closed = false;
  const open = () => {
    if (closed || document.hidden) return;
    source = new EventSource(`/api/sessions/${session}/events?html=1&after=${last}`);
    source.onopen = () => { pause = 1000; };
    source.onerror = () => {
      if (source.readyState !== EventSource.CLOSED) return;
      timer = setTimeout(open, pause);
      pause = Math.min(pause * 2, 15000);
    };
    for (const kind of KINDS) source.addEventListener(kind, (event) => {
      last = event.lastEventId || last;
      onEvent(JSON.parse(event.data));
    });
  };
  // A browser has six connections for one host: hidden tabs give theirs back.
  const visible = () => { source?.close(); clearTimeout(timer); open(); };
  document.addEventListener("visibilitychange", visible);
  open();
  return () => { closed = true; source?.close(); clearTimeout(timer); document.removeEventListener("visibilitychange", visible); };
}
