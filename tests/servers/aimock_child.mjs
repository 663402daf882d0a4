// AIMock on a free port, until standard input ends. Prints its URL. `GET /sent` gives the bodies of the requests
// as they came: AIMock's own journal keeps what it has made of them, which has no thinking and no signatures.
import { subscribe } from "node:diagnostics_channel";
import { LLMock } from "@copilotkit/aimock";

const sent = [];
subscribe("http.server.request.start", ({ request }) => {
  if (request.method !== "POST" || request.url.startsWith("/__aimock/")) return;
  const chunks = [];
  const push = request.push;
  // Listening for the data would make it flow before AIMock is there to take it.
  request.push = (chunk, ...more) => {
    if (chunk === null) sent.push({ path: request.url, body: JSON.parse(Buffer.concat(chunks)) });
    else chunks.push(chunk);
    return push.call(request, chunk, ...more);
  };
});

const mock = new LLMock({ host: "127.0.0.1", port: 0, strict: true, chunkSize: 8, logLevel: "silent" });
mock.mount("/sent", {
  async handleRequest(request, response) {
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify(sent.splice(0)));
    return true;
  },
});
console.log(await mock.start());
process.stdin.resume().on("end", () => process.exit());
