import "./compile-cache.ts";
import { stopSignal } from "./start/stop-signal.ts";

// To read the other modules takes a moment, in which a signal may come.
const stop = stopSignal();
const { serve } = await import("./start/serve.ts");
await serve(stop);
