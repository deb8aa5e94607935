import { styleText } from "node:util";
import { type Bar, barOn } from "./bar.ts";
import { withoutControls } from "./result/table.ts";

/** The exit code of a process that SIGPIPE ends: the reader of the pipe has gone. */
export const READER_GONE = 141;

type Stream = NodeJS.WritableStream & { columns?: number; isTTY?: boolean };

/** The parts of a process that a command uses. */
export interface CommandProcess {
  env: NodeJS.ProcessEnv;
  stdout: Stream;
  stderr: Stream;
}

type Style = Parameters<typeof styleText>[0];

/** The printers of results and of complaints. Both return the exit code. */
export interface Screen {
  print(text: string): Promise<number>;
  complain(text: string, code: number): Promise<number>;
  /** A note for people, beside the result. */
  note(text: string): Promise<void>;
  isUnread(): boolean;
  bar(label: string): Bar;
  /** A style for stdout, where it is a terminal that shows colors. */
  style(style: Style, text: string): string;
}

export function screenOf({ stdout, stderr, env }: CommandProcess): Screen {
  let isUnread = false;
  // Without listeners these errors would end the process.
  stderr.on("error", () => {});
  stdout.on("error", ({ code }: NodeJS.ErrnoException) => {
    isUnread ||= code === "EPIPE";
  });
  const styled = (stream: Stream, style: Style, text: string) =>
    stream.isTTY && !env.NO_COLOR && env.TERM !== "dumb"
      ? styleText(style, text, { validateStream: false })
      : text;
  const complain = async (text: string, code: number): Promise<number> => {
    const clean = withoutControls(text);
    await write(stderr, code === 0 ? clean : styled(stderr, "red", clean));
    return code;
  };
  const print = async (text: string): Promise<number> => {
    const error = await write(stdout, text);
    if (!error) return 0;
    return isUnread ? READER_GONE : complain(`The result could not be printed: ${error.message}`, 1);
  };
  return {
    print,
    complain,
    note: async (text) => void (await write(stderr, styled(stderr, "dim", withoutControls(text)))),
    isUnread: () => isUnread,
    bar: (label) => barOn(stderr, label),
    style: (style, text) => styled(stdout, style, text),
  };
}

/** Writes a line, and returns the error that stopped it, if any. */
function write(where: NodeJS.WritableStream, text: string): Promise<Error | null | undefined> {
  return new Promise((resolve) => where.write(`${text}\n`, resolve));
}
