// The console works without this. It loads the page again every few seconds, and shows the figures that have changed.
const EVERY_MS = 5_000;

/** Parsed by the browser itself: no text of ours becomes a script. */
function load(url) {
  return new Promise((resolve) => {
    const request = new XMLHttpRequest();
    request.open("GET", url);
    request.responseType = "document";
    request.onloadend = () => resolve(request.status === 200 ? request.response : null);
    request.send();
  });
}

async function renew(live) {
  // A person who reads or presses something here keeps it.
  if (document.hidden || live.contains(document.activeElement) || live.querySelector("details[open]")) return;
  const page = await load(location.href);
  const fresh = page?.getElementById(live.id);
  if (!fresh || fresh.textContent === live.textContent) return;
  live.replaceChildren(...document.adoptNode(fresh).childNodes);
}

for (const live of document.querySelectorAll("[data-live]")) setInterval(() => renew(live), EVERY_MS);
