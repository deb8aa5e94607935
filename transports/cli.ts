import "./compile-cache.ts";

await import("./cli-run.ts");
