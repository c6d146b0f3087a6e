// `openai` of npm.
import OpenAI from "openai";
import { KEY, MODEL, IMAGE, URL, run } from "./checks.mjs";

const client = new OpenAI({ baseURL: URL, apiKey: KEY });
const user = (content) => ({ role: "user", content });

async function ask(messages, options = {}) {
  const made = await client.chat.completions.create({ model: MODEL, messages, ...options });
  return made.choices[0].message.content;
}

await run({
  chat: async () => {
    const first = await ask([user("Hi")]);
    return [first, await ask([user("Hi"), { role: "assistant", content: first }, user("And again")])];
  },
  stream: async function* (text) {
    const chunks = await client.chat.completions.create({ model: MODEL, messages: [user(text)], stream: true });
    for await (const each of chunks) yield each.choices[0]?.delta?.content ?? "";
  },
  image: () => ask([user([{ type: "text", text: "Look" }, { type: "image_url", image_url: { url: IMAGE } }])]),
  cancel: async () => {
    const chunks = await client.chat.completions.create({ model: MODEL, messages: [user("endless")], stream: true });
    for await (const each of chunks) if (each.choices[0].delta.content) break;
  },
  fail: () => ask([user("fail")]),
  askForTwo: () => ask([user("Hi")], { n: 2 }),
  status: (error) => error.status,
});
