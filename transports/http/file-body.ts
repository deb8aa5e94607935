import type { ExportStream } from "#db/stream/export.ts";
import type { Outcome } from "#runtime/funnel/service.ts";

type File = NonNullable<Outcome["file"]>;

/** An export as the body of a response. A lost client cancels the export, and a failed export cuts the connection. */
export function bodyOf(stream: ExportStream): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        const piece = await stream.next();
        if (piece) controller.enqueue(piece);
        else controller.close();
      },
      cancel: () => stream.cancel(),
    },
    // The stream reads no chunk before the client asks for it.
    { highWaterMark: 0 },
  );
}

/** The Content-Disposition of a file. Names come from our own code, in ASCII. */
export function attachment({ filename }: File): string {
  return `attachment; filename="${filename}"`;
}

/** The first whole records of a CSV file: at most `most` bytes, and a text that `fits`. `has_more` tells of a rest. */
export async function startOf({ filename, stream }: File, most: number, fits: (text: string) => boolean) {
  const pieces: Buffer[] = [];
  let size = 0;
  for (let piece = await stream.next(); piece; piece = await stream.next()) {
    pieces.push(piece);
    size += piece.length;
    if (size > most) break;
  }
  await stream.cancel();
  const all = Buffer.concat(pieces);
  let whole = size > most ? wholeRecords(all, most) : size;
  while (!fits(all.toString("utf8", 0, whole))) whole = wholeRecords(all, Math.floor(whole * 0.8));
  return { filename, text: all.toString("utf8", 0, whole), has_more: whole < size };
}

/** The end of the last whole record within `most` bytes: a line end outside quotes. */
function wholeRecords(bytes: Buffer, most: number): number {
  let quoted = false;
  let end = 0;
  for (let at = 0; at < most; at++) {
    if (bytes[at] === 0x22) quoted = !quoted;
    else if (bytes[at] === 0x0a && !quoted) end = at + 1;
  }
  return end;
}
