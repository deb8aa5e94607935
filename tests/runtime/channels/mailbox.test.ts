import { expect, test, vi } from "vitest";
import { openChannels } from "#runtime/channels/index.ts";
import type { EmailMessage, StoredMessage } from "#runtime/channels/provider/channel.ts";
import { openProvider } from "../../support/provider.ts";

const { signal } = new AbortController();

function email(id: string, changes: Partial<EmailMessage> = {}): EmailMessage {
  const from = { email: "offers@casino.example" };
  return {
    id,
    to: "ana@example.com",
    from,
    subject: "Hi",
    text: "Hi",
    headers: {},
    ...changes,
  };
}

test("the mailbox keeps what it is given and calls it sent", async () => {
  const kept: StoredMessage[] = [];
  const mailbox = openProvider("email", "mailbox", {}, async (messages) => void kept.push(...messages));
  const outcomes = await mailbox.send([email("a"), email("b")], { signal });
  expect(mailbox).toMatchObject({ repeatable: true });
  expect(outcomes).toEqual([
    { id: "a", status: "sent", providerMessageId: "mailbox:a" },
    { id: "b", status: "sent", providerMessageId: "mailbox:b" },
  ]);
  expect(
    kept.map(({ channel, providerMessageId, message }) => [channel, providerMessageId, message.id]),
  ).toEqual([
    ["email", "mailbox:a", "a"],
    ["email", "mailbox:b", "b"],
  ]);
});

test("a mailbox that cannot keep asks for another try", async () => {
  const mailbox = openProvider("email", "mailbox", {}, () => Promise.reject(new Error("disk full")));
  const outcomes = await mailbox.send([email("a")], { signal });
  expect(outcomes).toEqual([
    {
      id: "a",
      status: "retry",
      code: "mailbox_unavailable",
      message: "disk full",
    },
  ]);
});

test("the mailbox refuses what no server would take", async () => {
  const store = vi.fn(async () => {});
  const mailbox = openProvider("email", "mailbox", {}, store);
  const outcomes = await mailbox.send([email("a", { subject: "Hi\r\nBcc: b@example.com" })], { signal });
  expect(outcomes).toMatchObject([{ id: "a", status: "failed", code: "invalid_message" }]);
  expect(store).not.toHaveBeenCalled();
});

test("two properties that share a provider each keep their own messages", async () => {
  const channels = openChannels({ allowPrivate: true });
  const kept: string[] = [];
  const one = channels.open(
    "email",
    { name: "mailbox", settings: {}, trusted: true },
    async (all) => void kept.push(...all.map(({ message }) => `1${message.id}`)),
  );
  const two = channels.open(
    "email",
    { name: "mailbox", settings: {}, trusted: true },
    async (all) => void kept.push(...all.map(({ message }) => `2${message.id}`)),
  );
  await one.send([email("a")], { signal });
  await two.send([email("b")], { signal });
  expect(kept).toEqual(["1a", "2b"]);
  await channels.close();
});
