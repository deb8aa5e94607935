import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { signs, usableKeys } from "#runtime/identity/signing-keys.ts";
import { issueToken } from "#runtime/identity/tokens.ts";
import { openLive } from "#transports/console/live/watch.ts";
import { startService, type TestService } from "../../support/service.ts";
import { listen } from "../mcp/subscriptions/listener.ts";

let service: TestService;
/** Another process on the same database. */
let second: TestService;

beforeAll(async () => {
  service = await startService();
  second = await startService({ role: "web" }, { database: service.database });
});
afterAll(async () => {
  await second?.running.stop();
  await service?.stop();
});

type Person = Awaited<ReturnType<TestService["signIn"]>>;

/** The open page of a person in a process; resolves when the stream has ended. */
async function openPage(at: TestService, { token }: Person): Promise<{ ended: Promise<void> }> {
  const cookie = `console_session=${token}; console_property=${service.tenant.id}`;
  const response = await fetch(`${at.baseUrl}/console/live?list=campaigns`, { headers: { cookie } });
  expect(response.headers.get("content-type")).toBe("text/event-stream");
  const reader = response.body!.getReader();
  await reader.read();
  const ended = (async () => {
    while (!(await reader.read()).done);
  })();
  return { ended };
}

/** The same for a program with the person's token. */
async function listener(at: TestService, { token }: Person): Promise<{ ended: Promise<void> }> {
  const headers = { Authorization: `Bearer ${token}` };
  const campaign = await service.call(
    "create_campaign",
    { name: "Any", channel: "email" },
    service.tenant.id,
  );
  const stream = await listen(at, { resourceSubscriptions: [`campaign://${campaign.id}`] }, { headers });
  await stream.next();
  const ended = (async () => {
    while ((await stream.next()) !== null);
  })();
  return { ended };
}

const WAYS: Readonly<Record<string, (person: Person) => Promise<unknown>>> = {
  "a new password": ({ id: user_id }) =>
    service.call("update_user", { user_id, password: "another long sentence" }),
  "a lost role": ({ id: user_id }) =>
    service.call("revoke_membership", { user_id, property_id: service.tenant.id }),
  "a closed account": ({ id: user_id }) => service.call("update_user", { user_id, is_active: false }),
  "signing out": ({ token }) => service.call("logout", { token }),
};

describe("the open streams of a person end in every process by", () => {
  test.for(Object.entries(WAYS))("%s", async ([, end]) => {
    const [person, other] = [await service.signIn(), await service.signIn()];
    const streams = [
      ...(await Promise.all([service, second].map((at) => openPage(at, person)))),
      ...(await Promise.all([service, second].map((at) => listener(at, person)))),
    ];
    let isOthersOver = false;
    void (await openPage(second, other)).ended.then(() => {
      isOthersOver = true;
    });
    await end(person);
    await Promise.all(streams.map(({ ended }) => ended));
    expect(isOthersOver).toBe(false);
  });
});

test("the stream of an open page ends with its session's time", async () => {
  const { id: subject } = await service.signIn();
  const { db, config, directory } = service.internals;
  const key = (await usableKeys(db, config)).find(signs)!;
  const [issuer, issuedAt] = [config.baseUrl, Math.floor(directory.now() / 1_000)];
  const token = await issueToken(key, { issuer, audience: issuer, subject, issuedAt, expiresIn: 3 });
  await (await openPage(service, { id: subject, token } as Person)).ended;
  expect(Math.floor(directory.now() / 1_000)).toBeGreaterThanOrEqual(issuedAt + 3);
});

test("a stream ends by the change itself, without a turn of the clock", async () => {
  const live = openLive(second.internals, 3_600_000);
  const { id: userId } = await service.signIn();
  const signedInAt = Math.floor(Date.now() / 1_000);
  const subject = {
    propertyId: service.tenant.id,
    userId,
    session: undefined,
    signedInAt,
    signedInUntil: signedInAt + 3_600,
    ids: [],
    lists: [],
  };
  let isToldOnce = () => {};
  const told = new Promise<void>((resolve) => {
    isToldOnce = resolve;
  });
  await new Promise<void>((ended) => {
    live.open(subject, { write: () => isToldOnce(), end: () => ended() });
    void told.then(() => service.call("update_user", { user_id: userId, password: "another long sentence" }));
  });
});
