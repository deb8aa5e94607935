// The page works without this. It marks messages as seen after a second in view, and keeps the badge up to date.
const list = document.querySelector(".messages[data-token]");
const badge = document.querySelector("[data-unread]");

if (list) {
  const headers = { authorization: `Bearer ${list.dataset.token}` };
  const show = ({ unread }) => {
    if (!badge) return;
    const text = unread === 0 ? "" : badge.dataset.text.replace("{count}", String(unread));
    // A screen reader says it with each change.
    if (badge.textContent !== text) badge.textContent = text;
  };

  const waiting = new Map();
  const due = [];
  const send = async () => {
    const ids = due.splice(0, 50);
    const answer = await fetch("/player/inbox/mark", {
      method: "POST",
      headers: { ...headers, "content-type": "application/json" },
      body: JSON.stringify({ ids, mark: "seen" }),
      keepalive: true,
    }).catch(() => null);
    if (answer?.ok) show(await answer.json());
  };
  const observer = new IntersectionObserver(
    (entries) => {
      for (const { target, isIntersecting } of entries) {
        const id = target.dataset.unseen;
        clearTimeout(waiting.get(id));
        waiting.delete(id);
        if (!isIntersecting || document.hidden) continue;
        const seen = () => {
          observer.unobserve(target);
          due.push(id);
          // Messages that come into view together are sent together.
          if (due.length === 1) setTimeout(send, 200);
        };
        waiting.set(id, setTimeout(seen, 1000));
      }
    },
    { threshold: 0.6 },
  );
  const observe = () => {
    for (const message of list.querySelectorAll("[data-unseen]")) observer.observe(message);
  };
  const forget = () => {
    for (const one of waiting.values()) clearTimeout(one);
    waiting.clear();
    observer.disconnect();
  };
  observe();
  document.addEventListener("visibilitychange", () => (document.hidden ? forget() : observe()));

  let etag = list.dataset.etag;
  const poll = async () => {
    if (document.hidden) return;
    const answer = await fetch("/player/inbox", {
      headers: { ...headers, "if-none-match": `"${etag}"` },
    }).catch(() => null);
    if (!answer?.ok) return;
    const inbox = await answer.json();
    etag = inbox.etag;
    show(inbox);
  };
  setInterval(poll, 60_000);
}
