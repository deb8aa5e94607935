// <player-inbox>: a player's inbox inside the casino's own page or app. The service's guide "Inbox" says how to embed it.
// Attributes: token (from create_subject_token), src (the service; default: where this file came from), lang.
// It fires `token-needed` when the token has ended, and `badge` with the counts whenever they change.
// The service puts WORDS, the texts by language, in front of this file.
const HOME = new URL(import.meta.url).origin;

const STYLE = `
:host{display:block;color:var(--player-inbox-ink,light-dark(#1b1f24,#eceae6));font-size:16px;line-height:1.5;--paper:var(--player-inbox-paper,light-dark(#fff,#1d2025));--soft:var(--player-inbox-soft,light-dark(#5a6472,#a9adb5));--brand:var(--player-inbox-brand,light-dark(#7a1f2b,#e2838f));--on-brand:var(--player-inbox-on-brand,light-dark(#fff,#1b1013));--accent:var(--player-inbox-accent,light-dark(#8a5a00,#e5b64e));--hair:color-mix(in srgb,currentColor 16%,transparent)}
*{box-sizing:border-box}ul{display:grid;gap:10px;margin:0;padding:0;list-style:none}
li,article{background:var(--paper);border:1px solid var(--hair);border-radius:14px;padding:14px 16px}
li.new{border-left:5px solid var(--accent);padding-left:12px}
.meta{display:flex;gap:10px;color:var(--soft);font-size:13px}.meta time{margin-left:auto}
h2{margin:2px 0 4px;font-size:17px;line-height:1.3;overflow-wrap:anywhere}h2 button{padding:0;min-height:24px;color:inherit;font-size:inherit;text-align:left}
p{margin:0 0 8px;white-space:pre-line;overflow-wrap:anywhere}.soft{color:var(--soft)}
img{display:block;max-width:100%;border-radius:10px;margin:8px 0}
.offer{margin:0 0 12px;padding:10px 12px;border:2px dashed var(--accent);border-radius:10px}.offer b{display:block;font-size:24px}.offer code{font-size:18px;letter-spacing:.05em;user-select:all}.over{opacity:.75}
h2,p,b,span{unicode-bidi:plaintext}nav button[aria-current]{text-decoration:underline;text-underline-offset:5px}
button{border:0;background:none;color:var(--brand);font:inherit;font-weight:600;min-height:32px;padding:4px 8px;border-radius:8px;cursor:pointer}
a.cta{display:block;padding:12px;border-radius:10px;background:var(--brand);color:var(--on-brand);font-weight:650;text-align:center;text-decoration:none}
:focus-visible{outline:3px solid var(--brand);outline-offset:2px}
.unseen{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}`;

const NOTHING = { items: [], unseen: 0, unread: 0, more: false, timezone: "UTC", etag: "" };

class PlayerInbox extends HTMLElement {
  static observedAttributes = ["token", "lang"];
  #root = this.attachShadow({ mode: "open" });
  #inbox = NOTHING;
  #folder = "inbox";
  #page = 1;
  #open = null;
  #stop = new AbortController();
  #timers = new Map();
  #observer = new IntersectionObserver((entries) => this.#watch(entries), { threshold: 0.6 });

  connectedCallback() {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(STYLE);
    this.#root.adoptedStyleSheets = [sheet];
    this.#begin();
  }

  disconnectedCallback() {
    this.#stop.abort();
    this.#forget();
  }

  attributeChangedCallback(name) {
    if (!this.isConnected) return;
    if (name === "token") this.#begin();
    else if (this.#inbox !== NOTHING) this.#show();
  }

  get #language() {
    const language = (this.lang || document.documentElement.lang).slice(0, 2);
    return language in WORDS ? language : "en";
  }

  get #words() {
    return WORDS[this.#language];
  }

  #begin() {
    this.#stop.abort();
    this.#stop = new AbortController();
    if (!this.getAttribute("token")) return this.#clear();
    void this.#load();
    void this.#listen(this.#stop.signal);
  }

  // Without a token the player has signed out: nobody else reads on, and the next one begins at their own first page.
  #clear() {
    this.#forget();
    this.#turn("inbox", 1);
    this.#inbox = NOTHING;
    this.#root.replaceChildren();
  }

  #turn(folder, page) {
    this.#folder = folder;
    this.#page = page;
    this.#open = null;
    // Two empty folders have the same tag.
    this.#inbox = { ...this.#inbox, etag: "" };
  }

  async #request(path, options = {}) {
    const headers = { ...options.headers, authorization: `Bearer ${this.getAttribute("token")}` };
    const url = `${this.getAttribute("src") ?? HOME}/player/inbox${path}`;
    const answer = await fetch(url, { ...options, headers, signal: this.#stop.signal });
    if (answer.status === 401) this.dispatchEvent(new CustomEvent("token-needed"));
    return answer;
  }

  #load() {
    const headers = { "if-none-match": `"${this.#inbox.etag}"` };
    return this.#update(`?folder=${this.#folder}&page=${this.#page}`, { headers });
  }

  async #update(path, options) {
    const [folder, page] = [this.#folder, this.#page];
    const answer = await this.#request(path, options).catch(() => null);
    if (!answer?.ok) return;
    const inbox = await answer.json().catch(() => null);
    // Answers come in any order: that of a page which the player has left is over.
    if (inbox && folder === this.#folder && page === this.#page) this.#take(inbox);
  }

  // EventSource sends no Authorization, and a token does not belong in an address.
  async #listen(signal) {
    while (!signal.aborted) {
      try {
        const answer = await this.#request("/badge");
        if (answer.status === 401) return;
        const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
        for (let part = await reader.read(); !part.done; part = await reader.read()) {
          if (part.value.includes("event: badge")) await this.#load();
        }
      } catch {
        if (signal.aborted) return;
      }
      await new Promise((resolve) => setTimeout(resolve, 15_000));
      if (!signal.aborted) await this.#load();
    }
  }

  #take(inbox) {
    // The last message of the last page was put away, or it was another player's page.
    if (inbox.items.length === 0 && this.#page > 1) {
      this.#turn(this.#folder, 1);
      void this.#load();
    }
    this.#inbox = inbox;
    this.dispatchEvent(new CustomEvent("badge", { detail: { unseen: inbox.unseen, unread: inbox.unread } }));
    this.#show();
  }

  mark(ids, mark) {
    const headers = { "content-type": "application/json" };
    const body = JSON.stringify({ ids, mark, folder: this.#folder, page: this.#page });
    return this.#update("/mark", { method: "POST", headers, body, keepalive: true });
  }

  #watch(entries) {
    for (const { target, isIntersecting } of entries) {
      clearTimeout(this.#timers.get(target.dataset.id));
      if (isIntersecting && !document.hidden) {
        const seen = () => void this.mark([target.dataset.id], "seen");
        this.#timers.set(target.dataset.id, setTimeout(seen, 1000));
      }
    }
  }

  #forget() {
    this.#observer.disconnect();
    for (const timer of this.#timers.values()) clearTimeout(timer);
    this.#timers.clear();
  }

  #show() {
    const focused = this.#root.activeElement?.dataset.key;
    this.#forget();
    const open = this.#open && this.#inbox.items.find(({ id }) => id === this.#open);
    this.#root.replaceChildren(open ? this.#message(open) : this.#list());
    // A message that has left the list took the focus with it.
    const next =
      focused &&
      (this.#root.querySelector(`[data-key="${focused}"]`) ?? this.#root.querySelector("button, [tabindex]"));
    if (next) next.focus();
    for (const one of this.#root.querySelectorAll("li[data-unseen]")) this.#observer.observe(one);
  }

  #list() {
    const words = this.#words;
    const { items, more } = this.#inbox;
    const to = (text, key, folder, page) =>
      button(text, key, () => {
        this.#turn(folder, page);
        void this.#load();
      });
    const folders = ["inbox", "archive"].map((name) => {
      const one = to(name === "inbox" ? words.inbox : words.archived, name, name, 1);
      if (name === this.#folder) one.setAttribute("aria-current", "true");
      return one;
    });
    const [name, empty] =
      this.#folder === "inbox" ? [words.inbox, words.inbox_empty] : [words.archived, words.archive_empty];
    const content = make("ul", { "aria-label": name }, ...items.map((item) => this.#row(item)));
    return make(
      "div",
      {},
      make("nav", { "aria-label": words.folders }, ...folders),
      items.length > 0 ? content : make("p", { class: "soft", tabindex: "-1" }, empty),
      this.#page > 1 && to(words.newer, "newer", this.#folder, this.#page - 1),
      more && to(words.more, "more", this.#folder, this.#page + 1),
    );
  }

  #row(item) {
    const isNew = item.read_at === null;
    const open = button(item.title, `open-${item.id}`, () => {
      this.#open = item.id;
      if (isNew) void this.mark([item.id], "read");
      this.#show();
      this.#root.querySelector("[data-key=back]")?.focus();
    });
    const unread = isNew && make("span", { class: "unseen" }, `${this.#words.unread}: `);
    const attributes = {
      class: isNew ? "new" : "",
      "data-id": item.id,
      ...(item.seen_at === null && { "data-unseen": "" }),
    };
    const offer = item.offer && make("p", {}, make("b", {}, item.offer.value), ` ${item.offer.type}`);
    return make(
      "li",
      attributes,
      this.#meta(item),
      make("h2", {}, unread, open),
      offer,
      make("p", { class: "soft" }, item.body.replace(/\s+/g, " ").slice(0, 140)),
      this.#actions(item),
    );
  }

  #message(item) {
    const words = this.#words;
    const back = button(words.back, "back", () => {
      this.#open = null;
      this.#show();
      this.#root.querySelector(`[data-key="open-${item.id}"]`)?.focus();
    });
    const link =
      item.cta_url &&
      make("a", { class: "cta", href: item.cta_url, rel: "noreferrer" }, item.cta_label ?? words.open_offer);
    link?.addEventListener("click", () => void this.mark([item.id], "clicked"));
    const image = item.image_url && make("img", { src: item.image_url, alt: "", loading: "lazy" });
    return make(
      "article",
      {},
      back,
      this.#meta(item),
      make("h2", {}, item.title),
      image,
      this.#offer(item),
      make("p", {}, item.body),
      link,
      this.#actions(item),
    );
  }

  #offer({ offer }) {
    if (!offer) return null;
    const words = this.#words;
    const code = offer.code && make("p", {}, `${words.code}: `, make("code", {}, offer.code));
    const date = offer.expires_at && this.#day(offer.expires_at);
    const text = (offer.expired ? words.expired : words.expires).replace("{date}", date);
    return make(
      "div",
      { class: offer.expired ? "offer over" : "offer" },
      make("b", {}, offer.value),
      make("p", {}, offer.type),
      code,
      date && make("p", { class: "soft" }, text),
    );
  }

  #meta(item) {
    return make(
      "div",
      { class: "meta" },
      item.pinned && make("span", {}, this.#words.pinned),
      item.category && make("span", {}, item.category),
      make("time", { datetime: item.delivered_at }, this.#day(item.delivered_at)),
    );
  }

  #actions(item) {
    const words = this.#words;
    const pin = button(
      item.pinned ? words.unpin : words.pin,
      `pin-${item.id}`,
      () => void this.mark([item.id], item.pinned ? "unpinned" : "pinned"),
    );
    const isArchived = item.archived_at !== null;
    const archive = button(isArchived ? words.restore : words.archive, `archive-${item.id}`, () => {
      this.#open = null;
      void this.mark([item.id], isArchived ? "restored" : "archived");
    });
    for (const one of [pin, archive]) one.setAttribute("aria-label", `${one.textContent}: ${item.title}`);
    return make("div", {}, pin, archive);
  }

  #day(iso) {
    const options = { dateStyle: "medium", timeZone: this.#inbox.timezone };
    return new Intl.DateTimeFormat(this.#language, options).format(new Date(iso));
  }
}

function make(name, attributes, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children.filter(Boolean));
  return element;
}

function button(text, key, act) {
  const element = make("button", { type: "button", "data-key": key }, text);
  element.addEventListener("click", act);
  return element;
}

customElements.define("player-inbox", PlayerInbox);
