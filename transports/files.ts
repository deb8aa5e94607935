import type { Flow } from "#db/flow.ts";
import type { Outcome } from "#runtime/invoke.ts";

type File = NonNullable<Outcome["file"]>;

/** A flow as the body of a response: a receiver who goes away cancels it, and a failure cuts the connection. */
export function bodyOf(flow: Flow): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        const piece = await flow.next();
        if (piece) controller.enqueue(piece);
        else controller.close();
      },
      cancel: () => flow.cancel(),
    },
    // Nothing is read ahead of the receiver.
    { highWaterMark: 0 },
  );
}

/** The header by which a browser saves the file. Names come from code, in ASCII. */
export function attachment({ filename }: File): string {
  return `attachment; filename="${filename}"`;
}

/** As many bytes of a CSV file as an agent can hold, in whole records whose text fits, and whether there is more. */
export async function startOf({ filename, flow }: File, most: number, fits: (text: string) => boolean) {
  const pieces: Buffer[] = [];
  let size = 0;
  for (let piece = await flow.next(); piece; piece = await flow.next()) {
    pieces.push(piece);
    size += piece.length;
    if (size > most) break;
  }
  await flow.cancel();
  const all = Buffer.concat(pieces);
  let whole = size > most ? wholeRecords(all, most) : size;
  while (!fits(all.toString("utf8", 0, whole))) whole = wholeRecords(all, Math.floor(whole * 0.8));
  return { filename, text: all.toString("utf8", 0, whole), has_more: whole < size };
}

/** Where the last record that fits ends: at a line end outside quotes. */
function wholeRecords(bytes: Buffer, most: number): number {
  let quoted = false;
  let end = 0;
  for (let at = 0; at < most; at++) {
    if (bytes[at] === 0x22) quoted = !quoted;
    else if (bytes[at] === 0x0a && !quoted) end = at + 1;
  }
  return end;
}
