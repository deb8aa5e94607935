// Loaded before everything else: this process believes that it is so many milliseconds later, or earlier.
const shift = Number(process.env.CLOCK_SHIFT);
const here = Date.now;
const now = () => here() + shift;

globalThis.Date = new Proxy(Date, {
  get: (date, name) => (name === "now" ? now : Reflect.get(date, name)),
  apply: () => new Date().toString(),
  construct: (date, given, made) => Reflect.construct(date, given.length === 0 ? [now()] : given, made),
});
