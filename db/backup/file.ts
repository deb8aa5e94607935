import { createReadStream, createWriteStream } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { pipeline } from "node:stream/promises";
import { createGunzip, createGzip } from "node:zlib";
import { z } from "zod";

const FORMAT = "player-marketing backup 1";

const Name = z.string().regex(/^[a-z_][a-z0-9_]*$/);
const Header = z.object({
  format: z.literal(FORMAT),
  taken_at: z.string(),
  /** The schema that the rows belong to. */
  migrations: z.array(z.object({ name: z.string(), checksum: z.string() })),
  /** Identifies APP_SECRET, which is not in the file. Null where the database was never started with one. */
  secret_fingerprint: z.string().nullable(),
  /** The months of partitioned tables, counted from January of year 0. */
  partitions: z.array(z.object({ table: Name, month: z.int() })),
  /** In an order in which no row refers to a later one. */
  tables: z.array(z.object({ name: Name, columns: z.array(Name) })),
});

/** The beginning of a backup file. The rows of its tables follow, as COPY writes them. */
export type Header = z.infer<typeof Header>;

/** A file that is no backup, or not a whole one; or one that cannot go into this database. */
export class BackupError extends Error {}

/** Writes a backup: whole, or not at all. `copy` gives the bytes of one table. */
export async function writeBackup(
  path: string,
  header: Omit<Header, "format">,
  copy: (table: Header["tables"][number]) => AsyncIterable<Buffer>,
): Promise<void> {
  const draft = `${path}.part`;
  const frames = async function* () {
    yield* frame(Buffer.from(JSON.stringify({ format: FORMAT, ...header })));
    for (const table of header.tables) {
      for await (const piece of copy(table)) if (piece.length > 0) yield* frame(piece);
      yield* frame(Buffer.alloc(0));
    }
  };
  try {
    // It holds personal data.
    const file = createWriteStream(draft, { mode: 0o600, flush: true });
    await pipeline(frames, createGzip({ level: 3 }), file);
    await rename(draft, path);
  } finally {
    await rm(draft, { force: true });
  }
}

/** The length in four bytes, and the bytes. */
function* frame(bytes: Buffer): Generator<Buffer> {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  yield length;
  yield bytes;
}

export interface OpenBackup {
  header: Header;
  /** The bytes of the next table, to be read to their end. */
  nextTable(): AsyncGenerator<Buffer>;
  /** Throws BackupError unless the file ends here, whole. */
  end(): Promise<void>;
}

/** Opens a backup. Throws BackupError when the file is none. */
export async function openBackup(path: string): Promise<OpenBackup> {
  const frames = readFrames(path);
  const next = async (): Promise<Buffer> => {
    const { value, done } = await frames.next().catch(refuse(path));
    if (done) throw new BackupError(`${path} is not whole: it ends too early.`);
    return value;
  };
  const header = Header.safeParse(parsed(await next()));
  if (!header.success) throw new BackupError(`${path} is no backup that this version can read.`);
  return {
    header: header.data,
    nextTable: async function* () {
      for (let bytes = await next(); bytes.length > 0; bytes = await next()) yield bytes;
    },
    end: async () => {
      const { done } = await frames.next().catch(refuse(path));
      if (!done) throw new BackupError(`${path} goes on where it should end.`);
    },
  };
}

function refuse(path: string) {
  return (cause: NodeJS.ErrnoException): never => {
    if (cause.code === "ENOENT") throw new BackupError(`There is no file ${path}.`, { cause });
    throw new BackupError(`${path} cannot be read (${cause.message}).`, { cause });
  };
}

function parsed(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString());
  } catch {
    return null;
  }
}

async function* readFrames(path: string): AsyncGenerator<Buffer> {
  const packed = createReadStream(path);
  const unpacked = createGunzip();
  // Its error ends the other stream, which is read.
  packed.on("error", (error) => unpacked.destroy(error));
  let rest = Buffer.alloc(0);
  for await (const piece of packed.pipe(unpacked)) {
    rest = rest.length === 0 ? piece : Buffer.concat([rest, piece]);
    let at = 0;
    while (rest.length - at >= 4) {
      const end = at + 4 + rest.readUInt32BE(at);
      if (rest.length < end) break;
      yield rest.subarray(at + 4, end);
      at = end;
    }
    rest = rest.subarray(at);
  }
  if (rest.length > 0) throw new Error("unexpected end of file");
}
