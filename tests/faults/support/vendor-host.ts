/** Preloaded into a service: what it asks of a vendor's host goes to VENDOR_URL, as the host's name would lead there. */
const HOSTS = /^https:\/\/api\.(resend|twilio)\.com(?=\/)/;
const to = process.env.VENDOR_URL;
const ask = globalThis.fetch;

globalThis.fetch = (input, init) => {
  if (!to || !(input instanceof Request) || !HOSTS.test(input.url)) return ask(input, init);
  return ask(new Request(input.url.replace(HOSTS, to), input), init);
};
