/** Preloaded into a service: what it asks of Resend goes to VENDOR_URL, as its host's name would lead there. */
const HOST = "https://api.resend.com";
const to = process.env.VENDOR_URL;
const ask = globalThis.fetch;

globalThis.fetch = (input, init) => {
  if (!to || !(input instanceof Request) || !input.url.startsWith(`${HOST}/`)) return ask(input, init);
  return ask(new Request(input.url.replace(HOST, to), input), init);
};
