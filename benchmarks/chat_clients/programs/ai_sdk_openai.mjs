// `ai` with `@ai-sdk/openai`; `.chat`, for without it the provider uses the Responses API.
import { createOpenAI } from "@ai-sdk/openai";
import { runWith } from "./ai_sdk.mjs";
import { KEY, MODEL, URL } from "./checks.mjs";

const model = createOpenAI({ baseURL: URL, apiKey: KEY }).chat(MODEL);
await runWith(model, { providerOptions: { openai: { logprobs: true } } });
