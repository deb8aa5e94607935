import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";

/** The figures of this process, for Prometheus. No label names a person, a property or an address. */
export const registry = new Registry();

const registers = [registry];
const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

export const httpRequests = new Histogram({
  name: "http_request_duration_seconds",
  help: "Requests by route, until their answer was sent",
  labelNames: ["method", "route", "status"] as const,
  buckets: SECONDS,
  registers,
});

export const toolCalls = new Histogram({
  name: "tool_call_duration_seconds",
  help: "Calls of operations over every face; outcome is ok or the error's code",
  labelNames: ["tool", "transport", "outcome"] as const,
  buckets: SECONDS,
  registers,
});

export const jobRuns = new Histogram({
  name: "job_duration_seconds",
  help: "Runs of background jobs; outcome is done, ready (to be tried again), dead, lost or given_back",
  labelNames: ["job", "outcome"] as const,
  buckets: [...SECONDS, 60, 300],
  registers,
});

export const messages = new Counter({
  name: "messages_total",
  help: "Messages handed to providers, by what became of them",
  labelNames: ["channel", "provider", "outcome"] as const,
  registers,
});

export const providerCalls = new Histogram({
  name: "provider_call_duration_seconds",
  help: "How long a provider took for a batch of messages",
  labelNames: ["channel", "provider"] as const,
  buckets: SECONDS,
  registers,
});

export const webhookCalls = new Histogram({
  name: "webhook_delivery_duration_seconds",
  help: "Attempts to deliver webhooks; outcome is the class of the status, or failed without an answer",
  labelNames: ["outcome"] as const,
  buckets: SECONDS,
  registers,
});

export const queueJobs = new Gauge({
  name: "queue_jobs",
  help: "Jobs of the queue by name and state; due ones apart from those that wait for their time",
  labelNames: ["job", "state"] as const,
  registers,
});

export const queueAge = new Gauge({
  name: "queue_oldest_due_seconds",
  help: "How long the oldest job of a name is due and not running",
  labelNames: ["job"] as const,
  registers,
});

export const sendingOpen = new Gauge({
  name: "sending_open",
  help: "1 where this database may send, 0 where sending is held",
  registers,
});

let isWatched = false;

/** Adds the process's own figures, such as the delay of its event loop. */
export function watchProcess(): void {
  if (isWatched) return;
  isWatched = true;
  collectDefaultMetrics({ register: registry });
}
