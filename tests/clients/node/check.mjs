// Reads streams.jsonl: each line has Pi's events of a stream, and the bytes of its UI message stream. Every event must
// pass the packages' own code, and what that code makes of a stream must be what its last event says.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { parseJsonEventStream, readUIMessageStream, uiMessageChunkSchema } from "ai";
import { AssistantMessageEventStream as Old } from "./pi-0.85/package/dist/utils/event-stream.js";
import { AssistantMessageFrameEncoder, reduceAssistantMessageFrames } from "./pi-0.85/package/dist/utils/assistant-message-frame.js";
import { AssistantMessageEventStream as Latest } from "./pi-latest/package/dist/utils/event-stream.js";

const TERMINAL = ["done", "error"];
const ENDINGS = ["finish", "error", "abort"];

async function pi(Stream, events) {
  const stream = new Stream();
  for (const event of structuredClone(events)) stream.push(event);
  const seen = [];
  for await (const event of stream) seen.push(event.type);
  const last = events.at(-1);
  const { durationMs, ...result } = await stream.result();
  assert.deepEqual(result, last.message ?? last.error);
  assert.deepEqual(seen, events.map((event) => event.type));
  assert.equal(seen.filter((type) => TERMINAL.includes(type)).length, 1);
}

function frames(events) {
  const encoder = new AssistantMessageFrameEncoder();
  const made = events.map((event) => encoder.encode(event)).filter((frame) => frame !== undefined);
  const message = reduceAssistantMessageFrames(made);
  const last = events.at(-1);
  // Frames have no word for arguments that are no object; of a call that was open they repair what Pi's parser can.
  const plain = (content) => content.map(({ argumentsError, arguments: given, ...rest }) =>
    (last.type === "done" && argumentsError === undefined ? { ...rest, arguments: given } : rest));
  const expected = plain((last.message ?? last.error).content);
  if (message === undefined) return assert.equal(events.length, 1);
  const cut = (last.message ?? last.error).content.some((part) => part.argumentsError !== undefined);
  const found = plain(message.content);
  if (cut) for (const part of [...found, ...expected]) delete part.arguments;
  assert.deepEqual(found, expected);
}

async function ui(bytes, last) {
  const parts = [];
  const body = new Blob([bytes]).stream();
  const parsed = parseJsonEventStream({ stream: body, schema: uiMessageChunkSchema }).pipeThrough(
    new TransformStream({
      transform(result, controller) {
        if (!result.success) throw result.error;
        parts.push(result.value);
        controller.enqueue(result.value);
      },
    }),
  );
  const errors = [];
  let message;
  for await (const state of readUIMessageStream({ stream: parsed, onError: (error) => errors.push(error.message) })) {
    message = state;
  }
  assert.equal(parts.filter((part) => ENDINGS.includes(part.type)).length, 1);
  const ending = parts.at(-1);
  assert.ok(ENDINGS.includes(ending.type));
  assert.deepEqual(errors, ending.type === "error" ? [ending.errorText] : []);
  if (last.type !== "done") return;
  const joined = (type, content, field) =>
    content.filter((part) => part.type === type).map((part) => part[field]).join("");
  assert.equal(joined("text", message?.parts ?? [], "text"), joined("text", last.message.content, "text"));
  assert.equal(joined("reasoning", message?.parts ?? [], "text"), joined("thinking", last.message.content, "thinking"));
  const calls = (message?.parts ?? []).filter((part) => part.type === "tool-add");
  const expected = last.message.content.filter((part) => part.type === "toolCall");
  const state = last.reason === "toolUse" ? "input-available" : "output-error";
  assert.deepEqual(calls.map((part) => [part.toolCallId, part.state]), expected.map((part) => [part.id, state]));
  if (last.reason === "toolUse") {
    assert.deepEqual(calls.map((part) => part.input), expected.map((part) => part.arguments));
  }
}

const lines = readFileSync("streams.jsonl", "utf-8").split("\n").filter((line) => line !== "");
let events = 0;
for (const [number, line] of lines.entries()) {
  const given = JSON.parse(line);
  events += given.pi.length;
  try {
    await pi(Old, given.pi);
    await pi(Latest, given.pi);
    frames(given.pi);
    await ui(given.ui, given.pi.at(-1));
  } catch (error) {
    console.error(`stream ${number}:`, error);
    process.exit(1);
  }
}
console.log(`${lines.length} streams with ${events} events: Pi's packages and ai read them all`);
