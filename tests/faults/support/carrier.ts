import { createHmac } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { setTimeout as pause } from "node:timers/promises";
import { WebSocket } from "ws";

const TOKEN = "twilio-token";
export const CARRIER_CREDENTIALS = {
  carrier: "twilio",
  account_sid: `AC${"0c".repeat(16)}`,
  auth_token: TOKEN,
};
/** How the called people are, by their number. */
const MANNERS = ["presses_9", "says_stop", "hangs_up", "drops"] as const;
export type Manner = (typeof MANNERS)[number];

export interface Carrier {
  url: string;
  /** The numbers that it was asked to call, once for each request. */
  asked: string[];
  /** People who asked for no more calls, and were told that the call ends. */
  stopped: string[];
  /** How often each manner was played to its end. */
  played: Map<Manner, number>;
  /** Where the service listens now; null while it is down. */
  service: string | null;
  stop(): Promise<void>;
}

export function mannerOf(phone: string): Manner {
  return MANNERS[Number(phone.slice(-4)) % MANNERS.length]!;
}

const signed = (address: string, fields: Record<string, string> = {}) => {
  const body = Object.keys(fields)
    .sort()
    .map((name) => name + fields[name])
    .join("");
  return createHmac("sha1", TOKEN)
    .update(address + body)
    .digest("base64");
};

/** Twilio, which calls people by its own manners and opens a WebSocket for each who picks up. */
export async function openCarrier(publicUrl: string): Promise<Carrier> {
  const calls: Promise<void>[] = [];
  const carrier: Omit<Carrier, "url" | "stop"> = { asked: [], stopped: [], played: new Map(), service: null };
  const server = createServer(async (request, response) => {
    const form = new URLSearchParams(await text(request));
    const to = form.get("To")!;
    carrier.asked.push(to);
    const sid = `CA${carrier.asked.length}`;
    // Long enough that a kill finds some requests without an answer.
    await pause(30);
    response
      .writeHead(201, { "content-type": "application/json" })
      .end(JSON.stringify({ sid, status: "queued" }));
    calls.push(
      place(carrier, publicUrl, { sid, to, address: addressIn(form), callback: form.get("StatusCallback")! }),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return Object.assign(carrier, {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stop: async () => {
      await Promise.all(calls);
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  });
}

function addressIn(form: URLSearchParams): string {
  return /url="([^"]+)"/.exec(form.get("Twiml") ?? "")?.[1] ?? "";
}

interface Call {
  sid: string;
  to: string;
  address: string;
  callback: string;
}

async function place(carrier: Omit<Carrier, "url" | "stop">, publicUrl: string, call: Call): Promise<void> {
  const manner = mannerOf(call.to);
  const talked = await talk(carrier, publicUrl, call, manner).catch(() => false);
  if (talked) carrier.played.set(manner, (carrier.played.get(manner) ?? 0) + 1);
  const fields = { CallSid: call.sid, CallStatus: "completed", CallDuration: "5" };
  // A carrier repeats its news until somebody takes it.
  for (let tries = 0; tries < 400; tries += 1) {
    const taken = await fetch(call.callback.replace(publicUrl, carrier.service ?? "http://127.0.0.1:1"), {
      method: "POST",
      headers: {
        "content-type": "application/x-www-form-urlencoded",
        "x-twilio-signature": signed(call.callback, fields),
      },
      body: new URLSearchParams(fields).toString(),
    }).catch(() => null);
    if (taken?.ok) return;
    await pause(100);
  }
}

/** Answers whether the person did what they are like. */
function talk(
  carrier: Omit<Carrier, "url" | "stop">,
  publicUrl: string,
  { sid, to, address }: Call,
  manner: Manner,
): Promise<boolean> {
  if (carrier.service === null) return Promise.resolve(false);
  const socket = new WebSocket(
    address.replace(publicUrl.replace("https", "wss"), carrier.service.replace("http", "ws")),
    {
      headers: { "x-twilio-signature": signed(address) },
    },
  );
  let said = 0;
  let acted = false;
  socket.on("open", () => socket.send(JSON.stringify({ type: "setup", callSid: sid })));
  socket.on("message", (data) => {
    const { type } = JSON.parse(String(data)) as { type: string };
    if (type === "end" && acted && (manner === "presses_9" || manner === "says_stop"))
      carrier.stopped.push(to);
    said += type === "text" ? 1 : 0;
    if (said < 3 || acted) return;
    acted = true;
    if (manner === "presses_9") socket.send(JSON.stringify({ type: "dtmf", digit: "9" }));
    if (manner === "says_stop")
      socket.send(JSON.stringify({ type: "prompt", voicePrompt: "Stop calling me", last: true }));
    if (manner === "hangs_up") socket.close(1000);
    if (manner === "drops") socket.terminate();
  });
  return new Promise((resolve) => {
    socket.on("error", () => {});
    socket.on("close", () => resolve(acted));
  });
}
