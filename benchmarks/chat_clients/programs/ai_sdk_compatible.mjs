// `ai` with `@ai-sdk/openai-compatible`.
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { runWith } from "./ai_sdk.mjs";
import { KEY, MODEL, URL } from "./checks.mjs";

const model = createOpenAICompatible({ name: "oneclaw", baseURL: URL, apiKey: KEY })(MODEL);
await runWith(model, { providerOptions: { oneclaw: { n: 2 } } });
