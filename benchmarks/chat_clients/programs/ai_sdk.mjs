// The Vercel AI SDK, with the provider that the caller makes.
import { generateText, streamText } from "ai";
import { PIXEL, run } from "./checks.mjs";

export async function runWith(model, unwanted) {
  const user = (content) => ({ role: "user", content });
  const ask = async (messages, options = {}) => (await generateText({ model, messages, ...options })).text;
  await run({
    chat: async () => {
      const first = await ask([user("Hi")]);
      return [first, await ask([user("Hi"), { role: "assistant", content: first }, user("And again")])];
    },
    stream: async function* (text) {
      yield* streamText({ model, messages: [user(text)], onError: ({ error }) => { throw error; } }).textStream;
    },
    image: () => ask([user([{ type: "text", text: "Look" }, { type: "image", image: Buffer.from(PIXEL, "base64") }])]),
    cancel: async () => {
      const leaving = new AbortController();
      const { textStream } = streamText({ model, messages: [user("endless")], abortSignal: leaving.signal });
      for await (const each of textStream) if (each) break;
      leaving.abort();
    },
    fail: () => ask([user("fail")]),
    askForTwo: () => ask([user("Hi")], unwanted),
    status: (error) => error.statusCode ?? error.lastError?.statusCode,
  });
}
