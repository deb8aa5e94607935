// The API reference: the viewer with our description.
const dark = matchMedia("(prefers-color-scheme: dark)");
const paint = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", paint);
paint();

// The viewer would read the whole description as YAML, and resolve all of it anew for each operation that is opened:
// seven seconds at the start and four for each. All our references lead into the same document.
const answer = await fetch("/api/openapi.json");
const spec = await answer.json();
if (!answer.ok) {
  const told = `The API description did not come: ${spec.error}`;
  document.querySelector(".wait").textContent = told;
  throw new Error(told);
}

const keysOf = (ref) =>
  ref
    .slice(2)
    .split("/")
    .map((key) => decodeURIComponent(key).replaceAll("~1", "/").replaceAll("~0", "~"));
const valueAt = (path) => path.reduce((value, key) => value?.[key], spec);

// A reference to itself stays one. `$$ref` gives the viewer the name of the schema.
function resolved(value, within = []) {
  if (Array.isArray(value)) return value.map((item) => resolved(item, within));
  if (typeof value !== "object" || value === null) return value;
  const { $ref: ref, ...beside } = value;
  if (typeof ref === "string") {
    if (within.includes(ref)) return value;
    return { ...resolved(valueAt(keysOf(ref)), [...within, ref]), ...beside, $$ref: ref };
  }
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, resolved(inner, within)]));
}

const resolver = () => ({
  fn: { resolveSubtree: async (_, path) => ({ spec: resolved(valueAt(path)), errors: [] }) },
});

// validatorUrl is null: a validator would send the address of the description to another host.
SwaggerUIBundle({
  spec,
  dom_id: "#docs",
  docExpansion: "none",
  filter: true,
  deepLinking: true,
  displayRequestDuration: true,
  tryItOutEnabled: true,
  persistAuthorization: true,
  validatorUrl: null,
  defaultModelsExpandDepth: -1,
  presets: [SwaggerUIBundle.presets.apis],
  plugins: [resolver],
});
