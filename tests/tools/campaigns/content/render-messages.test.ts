import { expect, test } from "vitest";
import type { Content, Recipient } from "#tools/campaigns/content/content.ts";
import { renderMessages } from "#tools/campaigns/content/render-messages.ts";
import { compileEmail } from "#tools/templates/rendering/email-template.ts";

test("while messages take long to render, the process answers others between them", async () => {
  const slow = "{% for a in (1..30) %}{% for b in (1..100) %}{{ b }}{% endfor %}{% endfor %}";
  const { render } = compileEmail({ subject: "Hi", html: `<p>${slow}</p>` });
  let others = 0;
  let isOver = false;
  const answer = () => {
    others += 1;
    if (!isOver) setImmediate(answer);
  };
  const content: Content<"sms"> = {
    channel: "sms",
    variables: [],
    messageTo: ({ send_id, address }) => ({ id: send_id, to: address, text: render({}).text, segments: 1 }),
    sentBy: (_, message) => message,
  };
  const recipients = Array.from({ length: 20 }, (_, n): Recipient => ({ send_id: `${n}`, address: `${n}` }));
  setImmediate(answer);
  const { messages, unrendered } = await renderMessages(
    content,
    recipients,
    () => "",
    Number.POSITIVE_INFINITY,
  );
  isOver = true;
  expect(messages.length + unrendered.length).toBe(20);
  expect(others).toBeGreaterThan(1);
});
