import { createHash } from "node:crypto";
import type { z } from "zod";
import type { CallLine, CallNews, CallTimes, VoiceMessage } from "../provider/call.ts";
import {
  type CallbackRequest,
  each,
  type Notice,
  type Provider,
  provider,
  type SendOutcome,
} from "../provider/channel.ts";
import { callApi, textAt, trouble } from "../provider/vendor-api.ts";
import { callLimit } from "./limits.ts";
import { readCall } from "./reading.ts";
import { type Json, objectIn } from "./signed.ts";

/** A call as a vendor of agents reports it. */
export interface AgentReport {
  callId: string;
  /** Our send's id; empty where the vendor does not return it. */
  sendId: string;
  /** The report's kind: the same one twice is one report. */
  event: string;
  news: Omit<CallNews, "kind">;
}

/** A vendor whose own agent leads the calls. */
interface AgentVendor<Settings> {
  name: string;
  settings: z.ZodType<Settings>;
  needsSender: boolean;
  times: CallTimes;
  /** The request for a call of at most `limit` seconds. */
  place(settings: Settings, message: VoiceMessage, ready: { limit: number; callbackUrl: string }): Request;
  /** The field of the call's id in the answer. */
  callId: string;
  /** The request for the state of a call. */
  find(settings: Settings, callId: string): Request;
  /** Ends a live call. Answers whether the vendor has taken the request. */
  end(settings: Settings, callId: string): Promise<boolean>;
  /** The report in the vendor's own record of a call; null while it has not ended. */
  found(call: Json): AgentReport | null;
  verify(settings: Settings, request: CallbackRequest): boolean;
  /** The report in a callback's body; null in an irrelevant one. */
  told(body: Json): AgentReport | null;
}

/** A provider whose calls a vendor's agent leads. */
export function agent<Settings>(vendor: AgentVendor<Settings>): Provider<Settings, "voice"> {
  const { name, settings, times } = vendor;
  return provider({
    channel: "voice",
    name,
    settings,
    // A second request is a second call.
    repeatable: false,
    concurrency: () => 10,
    callTimes: times,
    open: (given, { callbackUrl }) => ({
      send: (messages, options) =>
        each(messages, options, (message) => transmit(vendor, given, { message, callbackUrl })),
      close: async () => {},
    }),
    callbacks: {
      verify: vendor.verify,
      parse: (_, { body, at }) => noticesOf(vendor.told(objectIn(body)), at),
      end: (given, { callId }) => vendor.end(given, callId),
      read: (given, { callId, at }) =>
        readCall(vendor.find(given, callId), (body) => noticesOf(vendor.found(body), at)),
    },
  });
}

async function transmit<Settings>(
  vendor: AgentVendor<Settings>,
  given: Settings,
  { message, callbackUrl }: { message: VoiceMessage; callbackUrl: string | undefined },
): Promise<SendOutcome> {
  const { needsSender, times } = vendor;
  const ready = callLimit(message, { callbackUrl, needsSender, times });
  if ("status" in ready) return ready;
  const reply = await callApi(vendor.place(given, message, ready));
  if (!("status" in reply)) return trouble(message, reply);
  const callId = textAt(reply.body, vendor.callId);
  if (reply.status < 300 && callId !== "")
    return { id: message.id, status: "sent", providerMessageId: callId };
  const words =
    [textAt(reply.body, "message"), textAt(reply.body, "error_message")].find((text) => text !== "") ?? "";
  return trouble(message, reply, { code: "", message: words, own: words !== "" });
}

function noticesOf(report: AgentReport | null, at: number): Notice[] {
  if (!report || report.callId === "") return [];
  const { callId, sendId, event, news } = report;
  const about = {
    // A report with other words is another report.
    eventId: `${callId}:${event}:${digestOf(news.lines)}`,
    at: new Date(at).toISOString(),
    providerMessageId: callId,
    ...(sendId !== "" && { sendId }),
  };
  return [{ ...about, kind: "call", ...news }];
}

function digestOf(lines: readonly CallLine[] = []): string {
  return createHash("sha256").update(JSON.stringify(lines)).digest("base64url").slice(0, 22);
}

/** A request with JSON, or one that reads where there is no body. */
export function jsonRequest(url: string, authorization: string, body?: object): Request {
  return new Request(url, {
    method: body ? "POST" : "GET",
    headers: { authorization, ...(body && { "content-type": "application/json" }) },
    ...(body && { body: JSON.stringify(body) }),
  });
}

/** The end of a call as a vendor tells it. A number that it leaves out stays unknown. */
export function endOf({
  result,
  isMachine,
  seconds,
  cost,
  lines,
}: {
  result: CallNews["result"];
  isMachine: boolean;
  seconds: number | undefined;
  /** In USD. */
  cost: number | undefined;
  lines: CallLine[];
}): Omit<CallNews, "kind"> {
  return {
    state: "ended",
    result,
    ...(isMachine
      ? { answeredBy: "machine" as const }
      : lines.length > 0 && { answeredBy: "human" as const }),
    ...(seconds !== undefined && { seconds: Math.round(seconds) }),
    ...(cost !== undefined && { cost, currency: "USD" }),
    lines,
  };
}

/** The lines of a call: `us` is the agent, `them` the person; other roles said nothing. */
export function linesFrom(
  said: readonly { role: string; text: string; keys?: string }[],
  roles: Readonly<Record<string, CallLine["by"]>>,
): CallLine[] {
  return said.flatMap(({ role, text, keys }) => {
    const by = roles[role];
    return by && text.trim() !== "" ? [{ by, text, ...(keys && { keys }) }] : [];
  });
}
