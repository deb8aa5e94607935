import { expect, test } from "vitest";
import type { Server } from "#db/embedded/server.ts";
import { supervise } from "#db/embedded/supervise.ts";

const NO_PAUSES = [0, 0, 0, 0, 0];

/** A server whose end the test decides. */
function server() {
  const { promise: ended, resolve: end } = Promise.withResolvers<string>();
  return { ended, end, stop: async () => end("SIGINT") };
}

function log() {
  const errors: string[] = [];
  return { errors, info: () => undefined, error: (line: string) => void errors.push(line) };
}

test("a server that cannot be started again is given up after five failures, with the last reason", async () => {
  const first = server();
  const told = log();
  let tries = 0;
  const relaunch = async (): Promise<Server> => {
    tries += 1;
    throw new Error(`no such file (${tries})`);
  };
  const supervised = supervise(first, relaunch, told, NO_PAUSES);
  first.end("SIGKILL");
  expect(await supervised.lost).toBe("no such file (5)");
  expect(tries).toBe(5);
  expect(told.errors[0]).toBe("the database server has ended by itself (SIGKILL); it is started again");
});

test("a server that ends again as soon as it is started is given up too", async () => {
  const first = server();
  let tries = 0;
  const relaunch = async (): Promise<Server> => {
    tries += 1;
    const next = server();
    next.end(`exit code ${tries}`);
    return next;
  };
  const supervised = supervise(first, relaunch, log(), NO_PAUSES);
  first.end("SIGKILL");
  expect(await supervised.lost).toBe("exit code 5");
  expect(tries).toBe(5);
});

test("a stop is no failure, and ends the server that was started again", async () => {
  const [first, second] = [server(), server()];
  const told = log();
  const relaunched = Promise.withResolvers<void>();
  const supervised = supervise(
    first,
    async () => {
      relaunched.resolve();
      return second;
    },
    told,
    NO_PAUSES,
  );
  first.end("SIGKILL");
  await relaunched.promise;
  await supervised.stop();
  expect(await second.ended).toBe("SIGINT");
  expect(told.errors).toHaveLength(1);
});

test("a stop while the server is being started again leaves none running", async () => {
  const [first, second] = [server(), server()];
  const starting = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  const relaunch = async () => {
    starting.resolve();
    await goOn.promise;
    return second;
  };
  const supervised = supervise(first, relaunch, log(), NO_PAUSES);
  first.end("SIGKILL");
  await starting.promise;
  const stopped = supervised.stop();
  goOn.resolve();
  await stopped;
  expect(await second.ended).toBe("SIGINT");
});
