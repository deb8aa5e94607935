import { HttpResponse, http } from "msw";
import { setupServer } from "msw/node";
import { expect, onTestFinished, test } from "vitest";
import { callApi } from "#runtime/channels/provider/vendor-api.ts";
import { outgoing } from "#runtime/network/outgoing.ts";
import { activityOf, traceparent, withActivity } from "#runtime/telemetry/activity.ts";
import { webhookReceiver } from "../support/servers/receivers.ts";

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const GIVEN = `00-${TRACE}-00f067aa0ba902b7-01`;

test("a vendor's API and a receiver of webhooks are called in the trace, each as a span of its own", async () => {
  const receiver = await webhookReceiver();
  onTestFinished(receiver.stop);
  const post = outgoing({ allowPrivate: true, allowHttp: true });
  onTestFinished(post.close);
  const call = () => post.post({ url: receiver.url, headers: { "X-Own": "1" }, body: "{}" });
  await withActivity(activityOf(GIVEN), async () => {
    await call();
    await call();
  });
  await call();
  const [first, second, outside] = receiver.received.map(({ headers }) => headers.traceparent);
  const span = new RegExp(`^00-${TRACE}-[0-9a-f]{16}-01$`);
  expect(first).toMatch(span);
  expect(second).toMatch(span);
  expect(new Set([first, second, GIVEN]).size).toBe(3);
  expect(outside).toBeUndefined();

  const vendor = setupServer();
  vendor.listen({ onUnhandledFrame: "error" });
  onTestFinished(() => vendor.close());
  const told: (string | null)[] = [];
  vendor.use(
    http.post("https://vendor.example/send", ({ request }) => {
      told.push(request.headers.get("traceparent"));
      return HttpResponse.json({});
    }),
  );
  const send = () => callApi(new Request("https://vendor.example/send", { method: "POST", body: "{}" }));
  await withActivity(activityOf(GIVEN), send);
  await send();
  expect(told).toEqual([expect.stringMatching(span), null]);
});

test("a header that is no trace context begins a trace of its own", () => {
  for (const wrong of [
    undefined,
    "",
    "nonsense",
    `00-${"0".repeat(32)}-00f067aa0ba902b7-01`,
    `00-${TRACE}-short-01`,
  ]) {
    const { traceId } = activityOf(wrong);
    expect(traceId).toMatch(/^[0-9a-f]{32}$/);
    expect([TRACE, "0".repeat(32)]).not.toContain(traceId);
  }
  expect(traceparent()).toBeNull();
});
