import {
  type CallToolResult,
  CLIENT_CAPABILITIES_META_KEY,
  type ClientCapabilities,
  type ContentBlock,
  createRequestStateCodec,
  InMemoryServerEventBus,
  type InputRequests,
  type InputRequiredResult,
  inputRequired,
  MissingRequiredClientCapabilityError,
  ProtocolError,
  ProtocolErrorCode,
  type ServerContext,
  type ServerEventBus,
} from "@modelcontextprotocol/server";
import { z } from "zod";
import { Fault } from "#runtime/faults.ts";
import { type Operation, tool } from "#runtime/operation/operation.ts";

type Answer = CallToolResult | InputRequiredResult;

interface Fixture {
  description: string;
  /** Default: what the pipeline itself has made of the operation. */
  present?(context: ServerContext): Answer | Promise<Answer>;
  streaming?: true;
  handler?(): Promise<never>;
}

/** One red pixel. */
export const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
const SILENCE = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=";

const says = (text: string): CallToolResult => ({ content: [{ type: "text", text }] });
const image: ContentBlock = { type: "image", data: PIXEL, mimeType: "image/png" };
const embedded = (uri: string, mimeType: string, text: string): ContentBlock => ({
  type: "resource",
  resource: { uri, mimeType, text },
});

const asksFor = (message: string, field: string) =>
  inputRequired.elicit({
    message,
    requestedSchema: { type: "object", properties: { [field]: { type: "string" } }, required: [field] },
  });
const asksToConfirm = () =>
  inputRequired.elicit({
    message: "Please confirm",
    requestedSchema: { type: "object", properties: { ok: { type: "boolean" } }, required: ["ok"] },
  });
const completes = (text: string) =>
  inputRequired.createMessage({
    messages: [{ role: "user", content: { type: "text", text } }],
    maxTokens: 50,
  });

/** The capabilities of the client, by its own word. */
function ableTo({ mcpReq }: ServerContext): ClientCapabilities {
  const envelope: Record<string, unknown> | undefined = mcpReq.envelope;
  return (envelope?.[CLIENT_CAPABILITIES_META_KEY] ?? {}) as ClientCapabilities;
}

const state = createRequestStateCodec<Record<string, unknown>>({ key: new Uint8Array(32).fill(7) });

/** The state that a client has sent back, where it is ours. */
async function stateOf(context: ServerContext): Promise<Record<string, unknown> | null> {
  const given = context.mcpReq.requestState<string>();
  if (given === undefined) return null;
  return state.verify(given, context).catch(() => {
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, "requestState is not one of this server's");
  });
}

const Accepted = z.looseObject({ action: z.literal("accept"), content: z.record(z.string(), z.unknown()) });

/** The person's entries, where there are any. */
export function filledIn({ mcpReq }: ServerContext, key: string, field: string): unknown {
  return Accepted.safeParse(mcpReq.inputResponses?.[key]).data?.content[field];
}

const streams = new Set<ServerEventBus>();

const { subscribe } = InMemoryServerEventBus.prototype;
// Lists change at a word here; the service's own change with what a credential may do, once a second.
InMemoryServerEventBus.prototype.subscribe = function (listener) {
  streams.add(this);
  return subscribe.call(this, listener);
};

function publish(kind: "tools_list_changed" | "prompts_list_changed"): CallToolResult {
  for (const bus of streams) bus.publish({ kind });
  return says("Told");
}

const FIXTURES: Record<string, Fixture> = {
  test_simple_text: { description: "Answers text." },
  test_image_content: { description: "Answers an image.", present: () => ({ content: [image] }) },
  test_audio_content: {
    description: "Answers a sound.",
    present: () => ({ content: [{ type: "audio", data: SILENCE, mimeType: "audio/wav" }] }),
  },
  test_embedded_resource: {
    description: "Answers a resource.",
    present: () => ({
      content: [embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")],
    }),
  },
  test_multiple_content_types: {
    description: "Answers text, an image and a resource.",
    present: () => ({
      content: [
        { type: "text", text: "Multiple content types test:" },
        image,
        embedded("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
      ],
    }),
  },
  test_error_handling: {
    description: "Fails.",
    handler: async () => {
      throw new Fault("conflict", { message: "This tool intentionally returns an error for testing" });
    },
  },
  test_tool_with_progress: {
    description: "Tells of its progress.",
    streaming: true,
    present: async ({ mcpReq }) => {
      const progressToken = mcpReq._meta?.progressToken ?? 0;
      for (const progress of [0, 50, 100]) {
        await mcpReq.notify({
          method: "notifications/progress",
          params: { progressToken, progress, total: 100, message: `Completed step ${progress} of 100` },
        });
      }
      return says(String(progressToken));
    },
  },
  test_logging_tool: { description: "Says nothing but its result, whatever level is asked for." },
  test_streaming_elicitation: {
    description: "Tells of its progress, then asks.",
    present: async ({ mcpReq }) => {
      await mcpReq.notify({
        method: "notifications/progress",
        params: { progressToken: "token-abc", progress: 50, total: 100 },
      });
      return inputRequired({ inputRequests: { go_on: asksToConfirm() } });
    },
  },
  test_trigger_tool_change: {
    description: "Says that the tools have changed.",
    present: () => publish("tools_list_changed"),
  },
  test_trigger_prompt_change: {
    description: "Says that the prompts have changed.",
    present: () => publish("prompts_list_changed"),
  },
  test_missing_capability: {
    description: "Needs a client that samples.",
    present: (context) => {
      if (ableTo(context).sampling) return says("Success");
      throw new MissingRequiredClientCapabilityError({ requiredCapabilities: { sampling: {} } });
    },
  },
  test_input_required_result_elicitation: {
    description: "Asks for a name.",
    present: (context) => {
      const name = filledIn(context, "user_name", "name");
      if (typeof name === "string") return says(`Hello, ${name}!`);
      return inputRequired({ inputRequests: { user_name: asksFor("What is your name?", "name") } });
    },
  },
  test_input_required_result_sampling: {
    description: "Asks the client's model.",
    present: ({ mcpReq }) => {
      const given = mcpReq.inputResponses?.sample_request;
      if (given) return says(`Sampling result: ${JSON.stringify(given)}`);
      return inputRequired({
        inputRequests: { sample_request: completes("What is the capital of France?") },
      });
    },
  },
  test_input_required_result_list_roots: {
    description: "Asks for the client's roots.",
    present: ({ mcpReq }) => {
      const given = mcpReq.inputResponses?.roots_request as { roots?: unknown[] } | undefined;
      if (given) return says(`Found ${given.roots?.length ?? 0} root(s)`);
      return inputRequired({ inputRequests: { roots_request: inputRequired.listRoots() } });
    },
  },
  test_input_required_result_request_state: {
    description: "Asks, and knows its question again.",
    present: async (context) => {
      const known = await stateOf(context);
      if (known && filledIn(context, "confirm", "ok") === true)
        return says("state-ok: requestState validated");
      return inputRequired({
        inputRequests: { confirm: asksToConfirm() },
        requestState: await state.mint({ asked: "confirm" }),
      });
    },
  },
  test_input_required_result_tampered_state: {
    description: "Refuses a state that is not its own.",
    present: async (context) => {
      if (await stateOf(context)) return says("integrity-ok: state verified");
      return inputRequired({
        inputRequests: { confirm: asksToConfirm() },
        requestState: await state.mint({ asked: "confirm" }),
      });
    },
  },
  test_input_required_result_multiple_inputs: {
    description: "Asks three things at once.",
    present: async (context) => {
      const { user_name, greeting, client_roots } = context.mcpReq.inputResponses ?? {};
      if ((await stateOf(context)) && user_name && greeting && client_roots) {
        return says(`Name: ${filledIn(context, "user_name", "name")}`);
      }
      return inputRequired({
        inputRequests: {
          user_name: asksFor("What is your name?", "name"),
          greeting: completes("Generate a greeting"),
          client_roots: inputRequired.listRoots(),
        },
        requestState: await state.mint({ asked: "three" }),
      });
    },
  },
  test_input_required_result_multi_round: {
    description: "Asks twice.",
    present: async (context) => {
      const known = await stateOf(context);
      const color = filledIn(context, "step2", "color");
      if (known?.name && color) return says(`${known.name} likes ${color}`);
      const name = filledIn(context, "step1", "name");
      if (known && name) {
        return inputRequired({
          inputRequests: { step2: asksFor("Step 2: What is your favorite color?", "color") },
          requestState: await state.mint({ name }),
        });
      }
      return inputRequired({
        inputRequests: { step1: asksFor("Step 1: What is your name?", "name") },
        requestState: await state.mint({ round: 1 }),
      });
    },
  },
  test_input_required_result_capabilities: {
    description: "Asks only what the client can answer.",
    present: async (context) => {
      const { elicitation, sampling } = ableTo(context);
      const asked: InputRequests = {
        ...(elicitation && { elicit_input: asksFor("Elicitation input", "value") }),
        ...(sampling && { sample_input: completes("Sample request") }),
      };
      if (context.mcpReq.inputResponses || Object.keys(asked).length === 0) return says("capabilities-ok");
      return inputRequired({ inputRequests: asked, requestState: await state.mint({ asked: "able" }) });
    },
  },
};

/** The suite's tools, as operations that run like every other. */
export const TOOLS: Operation[] = Object.entries(FIXTURES).map(([name, { description, handler }]) =>
  tool({
    name,
    title: name.replaceAll("_", " "),
    description,
    scope: "read",
    effect: "read",
    core: true,
    input: {},
    output: z.object({ ran: z.literal(true) }),
    faults: ["conflict"],
    handler: handler ?? (async () => ({ ran: true as const })),
  }),
);

export const STREAMING: ReadonlySet<string> = new Set(
  Object.keys(FIXTURES).filter((name) => FIXTURES[name]?.streaming),
);

/** A fixture's answer in place of the pipeline's own words. Its structured content stays. */
export async function present(name: string, result: Answer, context: ServerContext): Promise<Answer> {
  const { greeting } = (result.structuredContent ?? {}) as { greeting?: string };
  if (greeting) return { ...result, ...says(greeting) };
  const answered = (await FIXTURES[name]?.present?.(context)) ?? result;
  return "content" in answered ? { ...result, ...answered } : answered;
}
