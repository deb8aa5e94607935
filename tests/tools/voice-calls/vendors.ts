import { createHmac } from "node:crypto";

// biome-ignore lint/suspicious/noExplicitAny: a test reads what it expects
export type Body = any;

export const OPENING =
  "Hello. This is an automated call from Casino LLC, by an AI voice. To stop these calls, press 9 or say stop at any time.";
export type Line = [by: "us" | "them", text: string];

/** Each vendor's settings, the report of a call's end as its documentation shows it, and its signature. */
export const VENDORS = {
  vapi: {
    credentials: { api_key: "vapi-key", phone_number_id: "phone-1", webhook_secret: "vapi-secret" },
    first: (body: Body) => [body.assistant.firstMessage, body.assistant.model.messages[0].content],
    sendId: (body: Body) => body.name,
    record: "https://api.vapi.ai/call/vendor-call",
    running: {
      id: "vendor-call",
      status: "in-progress",
      monitor: { controlUrl: "https://phone-call-websocket.vapi.ai/vendor-call/control" },
    },
    end: "https://phone-call-websocket.vapi.ai/vendor-call/control",
    endsBy: 'https://phone-call-websocket.vapi.ai/vendor-call/control {"type":"end-call"}',
    ended: {},
    recorded: (send_id: string, lines: Line[]) => ({
      id: "vendor-call",
      name: send_id,
      status: "ended",
      endedReason: "customer-ended-call",
      startedAt: "2026-11-24T12:00:00.000Z",
      endedAt: "2026-11-24T12:00:41.600Z",
      cost: 0.12,
      artifact: { messages: lines.map(([by, message]) => ({ role: by === "us" ? "bot" : "user", message })) },
    }),
    report: (send_id: string, lines: Line[], reason: string) => ({
      message: {
        type: "end-of-call-report",
        endedReason: { spoke: "customer-ended-call", none: "customer-did-not-answer" }[reason],
        durationSeconds: 41.6,
        cost: 0.12,
        artifact: {
          transcript: "",
          messages: [
            { role: "system", message: "the prompt" },
            ...lines.map(([by, message]) => ({ role: by === "us" ? "bot" : "user", message, time: 1 })),
          ],
        },
        call: { id: "vendor-call", assistant: { metadata: { send_id } } },
      },
    }),
    headers: () => ({ "x-vapi-secret": "vapi-secret" }),
  },
  retell: {
    credentials: { api_key: "retell-key", agent_id: "agent-1" },
    first: (body: Body) => [
      body.agent_override.retell_llm.begin_message,
      body.retell_llm_dynamic_variables.instructions,
    ],
    sendId: (body: Body) => body.metadata.send_id,
    record: "https://api.retellai.com/v2/get-call/vendor-call",
    running: { call_id: "vendor-call", call_status: "ongoing" },
    end: "https://api.retellai.com/v2/stop-call/vendor-call",
    endsBy: "https://api.retellai.com/v2/stop-call/vendor-call {}",
    ended: {},
    recorded: (send_id: string, lines: Line[]) => ({
      call_id: "vendor-call",
      call_status: "ended",
      metadata: { send_id },
      disconnection_reason: "user_hangup",
      duration_ms: 41_600,
      call_cost: { combined_cost: 12 },
      transcript_object: lines.map(([by, content]) => ({ role: by === "us" ? "agent" : "user", content })),
    }),
    report: (send_id: string, lines: Line[], reason: string) => ({
      event: "call_ended",
      call: {
        call_id: "vendor-call",
        call_status: "ended",
        metadata: { send_id },
        disconnection_reason: { spoke: "user_hangup", none: "dial_no_answer" }[reason],
        duration_ms: 41_600,
        call_cost: { combined_cost: 12 },
        transcript_object: lines.map(([by, content]) => ({ role: by === "us" ? "agent" : "user", content })),
      },
    }),
    headers: (text: string) => {
      const now = Date.now();
      return {
        "x-retell-signature": `v=${now},d=${createHmac("sha256", "retell-key")
          .update(text + now)
          .digest("hex")}`,
      };
    },
  },
  bland: {
    credentials: { api_key: "bland-key", webhook_secret: "bland-secret" },
    first: (body: Body) => [body.first_sentence, body.task],
    sendId: (body: Body) => body.metadata.send_id,
    record: "https://api.bland.ai/v1/calls/vendor-call",
    running: { call_id: "vendor-call", completed: false, queue_status: "started" },
    end: "https://api.bland.ai/v1/calls/vendor-call/stop",
    endsBy: "https://api.bland.ai/v1/calls/vendor-call/stop {}",
    ended: { status: "success", message: "Call ended successfully." },
    recorded: (send_id: string, lines: Line[]) => ({
      call_id: "vendor-call",
      completed: true,
      queue_status: "complete",
      answered_by: "human",
      call_length: 0.6933,
      price: 0.12,
      metadata: { send_id },
      transcripts: lines.map(([by, text], id) => ({ id, user: by === "us" ? "assistant" : "user", text })),
    }),
    report: (send_id: string, lines: Line[], reason: string) => ({
      call_id: "vendor-call",
      completed: true,
      status: "completed",
      answered_by: { spoke: "human", none: "no-answer" }[reason],
      call_length: 0.6933,
      price: 0.12,
      metadata: { send_id },
      transcripts: lines.map(([by, text], id) => ({ id, user: by === "us" ? "assistant" : "user", text })),
    }),
    headers: (text: string) => ({
      "x-webhook-signature": createHmac("sha256", "bland-secret").update(text).digest("hex"),
    }),
  },
} as const;
export type Kind = keyof typeof VENDORS;
