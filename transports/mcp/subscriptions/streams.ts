import { createMcpHandler, InMemoryServerEventBus, type Server } from "@modelcontextprotocol/server";

const KEEP_ALIVE_MS = 15_000;
const KEEP_ALIVE = new TextEncoder().encode(": keep-alive\n\n");
/** Messages that may wait for a reader; a slower reader must subscribe again. */
const MOST_WAITING = 256;

/** One answer to `subscriptions/listen`, open until one side ends it. */
export interface EventStream {
  response: Response;
  bus: InMemoryServerEventBus;
  /** Ends the stream with its final answer. */
  end(): Promise<void>;
}

/**
 * Opens the stream of one request, by the SDK's rules. Null with the SDK's refusal in `response`, if it refuses.
 * `onEnd` is called once, when either side ends it.
 */
export async function openStream(options: {
  request: Request;
  body: unknown;
  makeServer(): Server;
  onerror(error: Error): void;
  onEnd(): void;
}): Promise<EventStream | { response: Response; bus: null }> {
  const { request, body, makeServer, onerror, onEnd } = options;
  const bus = new InMemoryServerEventBus(onerror);
  // An own handler a stream: the SDK's bus sends the same to all streams of a handler.
  const handler = createMcpHandler(makeServer, { legacy: "reject", bus, keepAliveMs: 0, onerror });
  const response = await handler.fetch(request, { parsedBody: body });
  const streams = response.headers.get("content-type")?.startsWith("text/event-stream");
  if (!streams || !response.body) return { response, bus: null };
  const { status, headers } = response;
  return {
    response: new Response(bounded(response.body, onEnd), { status, headers }),
    bus,
    end: () => handler.close(),
  };
}

/** The same messages, with keep-alives. A reader who is too slow is cut off. */
function bounded(source: ReadableStream<Uint8Array>, onEnd: () => void): ReadableStream<Uint8Array> {
  const reader = source.getReader();
  let beating: NodeJS.Timeout | undefined;
  let over = false;
  const stop = () => {
    if (over) return;
    over = true;
    clearInterval(beating);
    reader.cancel().catch(() => {});
    onEnd();
  };
  const start = (controller: ReadableStreamDefaultController<Uint8Array>) => {
    const push = (chunk: Uint8Array) => {
      if (over) return;
      if ((controller.desiredSize ?? 0) > 0) return controller.enqueue(chunk);
      stop();
      controller.error(new Error("The reader does not keep up."));
    };
    const pump = async () => {
      for (;;) {
        const { done, value } = await reader.read();
        if (over) return;
        if (done) break;
        push(value);
      }
      stop();
      controller.close();
    };
    beating = setInterval(() => push(KEEP_ALIVE), KEEP_ALIVE_MS);
    pump().catch((error: unknown) => {
      if (over) return;
      stop();
      controller.error(error);
    });
  };
  return new ReadableStream({ start, cancel: stop }, { highWaterMark: MOST_WAITING });
}
