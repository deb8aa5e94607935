import "./compile-cache.ts";

await import("./start/serve.ts");
