/** A bar on a terminal that shows how far some work is. */
export interface Bar {
  show(done: number, total: number | null): void;
  clear(): void;
}

const CELLS = 24;
const number = new Intl.NumberFormat("en-US");

/** A bar on the stream, which writes nothing where that is no terminal. */
export function barOn(
  stream: NodeJS.WritableStream & { isTTY?: boolean; columns?: number },
  label: string,
): Bar {
  if (!stream.isTTY) return { show: () => {}, clear: () => {} };
  const startedAt = performance.now();
  const begin = "\r\u001b[K";
  return {
    show: (done, total) => {
      const seconds = Math.round((performance.now() - startedAt) / 1000);
      const line = barLine(label, done, total, seconds);
      stream.write(begin + line.slice(0, (stream.columns ?? 80) - 1));
    },
    clear: () => void stream.write(begin),
  };
}

/** The line of a bar. Without a total it only counts. */
function barLine(label: string, done: number, total: number | null, seconds: number): string {
  const time = `${seconds} s`;
  if (total === null || total === 0) return `${label}  ${number.format(done)}  ${time}`;
  const share = Math.min(1, done / total);
  const full = Math.round(share * CELLS);
  const cells = "█".repeat(full) + "░".repeat(CELLS - full);
  const percent = `${Math.floor(share * 100)} %`.padStart(5);
  return `${label}  ${cells} ${percent}  ${number.format(done)} of ${number.format(total)}  ${time}`;
}
