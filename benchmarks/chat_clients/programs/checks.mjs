// The checks of the programs in JavaScript: each prints one line of JSON.
export const URL = process.env.ONECLAW_V1;
export const KEY = process.env.ONECLAW_TOKEN;
export const MODEL = "General Assistant";
export const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/q842iQAAAABJRU5ErkJggg==";
export const IMAGE = `data:image/png;base64,${PIXEL}`;

async function raised(work, status) {
  try {
    return { status: null, message: `no error: ${await work()}` };
  } catch (error) {
    return { status: status(error) ?? null, message: String(error.message ?? error) };
  }
}

export async function run(client) {
  const check = process.argv[2];
  let found = {};
  if (check === "chat") found = { texts: await client.chat() };
  else if (check === "stream") {
    const pieces = [];
    for await (const each of client.stream("silent")) if (each) pieces.push(each);
    found = { text: pieces.join(""), pieces: pieces.length };
  } else if (check === "image") found = { text: await client.image() };
  else if (check === "cancel") await client.cancel();
  else found = { fail: await raised(client.fail, client.status), two: await raised(client.askForTwo, client.status) };
  console.log(JSON.stringify(found));
  // The turn ends because the client has left, and not because its process ends.
  if (check === "cancel") await new Promise((done) => setTimeout(done, 5000));
}
