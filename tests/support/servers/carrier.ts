import { createHmac, generateKeyPairSync, sign } from "node:crypto";
import { once } from "node:events";
import { HttpResponse, http } from "msw";
import { WebSocket } from "ws";

export const BASE_URL = "https://casino.example";
const TWILIO_SID = `AC${"0b".repeat(16)}`;
const TWILIO_TOKEN = "twilio-secret";

const keys = generateKeyPairSync("ed25519");
/** The 32 bytes behind the prefix of DER. */
const publicKey = keys.publicKey.export({ format: "der", type: "spki" }).subarray(-32).toString("base64");

export const CREDENTIALS = {
  twilio: { carrier: "twilio", account_sid: TWILIO_SID, auth_token: TWILIO_TOKEN },
  telnyx: {
    carrier: "telnyx",
    account_sid: "telnyx-account",
    application_id: "app-1",
    api_key: "telnyx-key",
    public_key: publicKey,
  },
} as const;
export type Carrier = keyof typeof CREDENTIALS;

/** One call that a carrier was asked for. */
export interface Placed {
  carrier: Carrier;
  to: string;
  from: string;
  /** The WebSocket's address. */
  address: string;
  callback: string;
  sid: string;
  fields: Record<string, string>;
}

/** The carriers' APIs, for msw; they note what they were asked. `answer` may refuse a call. */
export function carrierApis(placed: Placed[], answer: () => Response | undefined = () => undefined) {
  const note = (carrier: Carrier, fields: Record<string, string>, xml: string): Placed => {
    const address = /ConversationRelay url="([^"]+)"/.exec(xml)?.[1] ?? "";
    const call = {
      carrier,
      to: fields.To!,
      from: fields.From!,
      address,
      callback: fields.StatusCallback!,
      sid: `CA${placed.length + 1}`,
      fields,
    };
    placed.push(call);
    return call;
  };
  return [
    http.post(`https://api.twilio.com/2010-04-01/Accounts/${TWILIO_SID}/Calls.json`, async ({ request }) => {
      const fields = Object.fromEntries(new URLSearchParams(await request.text()));
      const refusal = answer();
      if (refusal) return refusal;
      return HttpResponse.json(
        { sid: note("twilio", fields, fields.Twiml!).sid, status: "queued" },
        { status: 201 },
      );
    }),
    http.post("https://api.telnyx.com/v2/texml/Accounts/telnyx-account/Calls", async ({ request }) => {
      const fields = (await request.json()) as Record<string, string>;
      const { sid } = note("telnyx", fields, fields.Texml!);
      return HttpResponse.json({ call_sid: sid, status: "queued", to: fields.To, from: fields.From });
    }),
  ];
}

function twilioSignature(address: string, fields: Record<string, string> = {}): string {
  const text = Object.keys(fields)
    .sort()
    .map((name) => name + fields[name])
    .join("");
  return createHmac("sha1", TWILIO_TOKEN)
    .update(address + text)
    .digest("base64");
}

/** The headers by which a carrier signs a callback or a handshake. */
function signedHeaders(carrier: Carrier, address: string, fields: Record<string, string>, at = Date.now()) {
  if (carrier === "twilio") return { "x-twilio-signature": twilioSignature(address, fields) };
  const time = String(Math.floor(at / 1000));
  const body = Buffer.from(`${time}|${new URLSearchParams(fields)}`);
  return {
    "telnyx-timestamp": time,
    "telnyx-signature-ed25519": sign(null, body, keys.privateKey).toString("base64"),
  };
}

/** Reports the news of a call, signed unless `headers` say otherwise. */
export async function report(
  here: string,
  call: Placed,
  fields: Record<string, string>,
  headers?: Record<string, string>,
): Promise<number> {
  const body = { CallSid: call.sid, ...fields };
  const answer = await fetch(call.callback.replace(BASE_URL, here), {
    method: "POST",
    headers: {
      "content-type": "application/x-www-form-urlencoded",
      ...(headers ?? signedHeaders(call.carrier, call.callback, body)),
    },
    body: new URLSearchParams(body).toString(),
  });
  await answer.text();
  return answer.status;
}

type Frame = { type: string; token?: string };

/** A carrier's WebSocket to a person who has picked up. */
export interface Phone {
  /** Our words, in order. */
  said: string[];
  /** We ended the call. */
  ended: Promise<void>;
  press(digit: string): void;
  say(text: string, last?: boolean): void;
  send(frame: object | string): void;
  /** Resolves when we have said so many sentences. */
  heard(count: number): Promise<string[]>;
  /** `null`: the network closes without a code. */
  hangUp(code?: number | null): Promise<void>;
  /** The network breaks. */
  drop(): void;
  closed: Promise<number>;
}

/** Opens the WebSocket of a call as its carrier does. Rejects with the status of a refusal. */
export async function pickUp(here: string, call: Placed, headers?: Record<string, string>): Promise<Phone> {
  const signed = call.carrier === "twilio" ? { "x-twilio-signature": twilioSignature(call.address) } : {};
  const socket = new WebSocket(
    call.address.replace(BASE_URL.replace("https", "wss"), here.replace("http", "ws")),
    {
      headers: headers ?? signed,
    },
  );
  const said: string[] = [];
  const waiting: { count: number; done: (said: string[]) => void }[] = [];
  let end: () => void = () => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  socket.on("message", (data) => {
    const frame = JSON.parse(String(data)) as Frame;
    if (frame.type === "end") end();
    if (frame.type === "text") said.push(frame.token!);
    for (const one of waiting.filter(({ count }) => said.length >= count)) one.done([...said]);
  });
  const closed = new Promise<number>((resolve) => socket.once("close", resolve));
  await new Promise<void>((resolve, reject) => {
    socket.once("open", resolve);
    socket.once("unexpected-response", (_, { statusCode }) => reject(new Error(String(statusCode))));
    socket.once("error", reject);
  });
  const send = (frame: object | string) =>
    socket.send(typeof frame === "string" ? frame : JSON.stringify(frame));
  send({
    type: "setup",
    sessionId: "VX1",
    callSid: call.sid,
    from: call.from,
    to: call.to,
    direction: "outbound-api",
  });
  return {
    said,
    ended,
    closed,
    send,
    press: (digit) => send({ type: "dtmf", digit }),
    say: (voicePrompt, last = true) => send({ type: "prompt", voicePrompt, lang: "en-US", last }),
    heard: (count) =>
      said.length >= count
        ? Promise.resolve([...said])
        : new Promise((done) => waiting.push({ count, done })),
    hangUp: async (code = 1000) => {
      socket.close(code ?? undefined);
      if (socket.readyState !== socket.CLOSED) await once(socket, "close");
    },
    drop: () => socket.terminate(),
  };
}
