import type { Database, Sql } from "#db/database.ts";
import { Fault } from "#runtime/faults.ts";
import type { Actor, Tenant } from "#runtime/operation/context.ts";
import type { JobContext } from "#runtime/operation/job.ts";

/** The purpose of an upload link's token, and its contents. */
export const UPLOAD_LINK = "upload";
export interface UploadLink {
  property: string;
  upload: string;
  filename: string | null;
  /** The caller who made the link. */
  actor: Actor;
}

/** The action of the audit row of a file that came by a link. */
export const UPLOADED = "upload_file";

interface Arriving {
  propertyId: string;
  id: string;
  filename: string | null;
}

/** The most bytes of a file. */
export const MOST_FILE = 200 * 1_048_576;
const CHUNK = 524_288;

/** A file's bytes, chunk by chunk, each in a short transaction of its own. */
export async function* uploaded(context: JobContext, uploadId: string): AsyncGenerator<Buffer> {
  for (let seq = 0; ; seq++) {
    const chunk = await context.transact(async ({ sql, property }) => {
      const [row] = await sql<{ bytes: Buffer }[]>`
        select bytes from upload_chunks
        where property_id = ${property.id} and upload_id = ${uploadId} and seq = ${seq}`;
      return row?.bytes;
    });
    if (!chunk) return;
    yield chunk;
  }
}

/** The first bytes of a complete file. */
export async function fileHead(
  { sql, property }: Tenant,
  uploadId: string,
): Promise<{ bytes: Buffer; isWhole: boolean }> {
  const rows = await sql<{ bytes: Buffer }[]>`
    select bytes from upload_chunks
    where property_id = ${property.id} and upload_id = ${uploadId} and seq <= 1 order by seq`;
  return { bytes: rows[0]?.bytes ?? Buffer.alloc(0), isWhole: rows.length < 2 };
}

/** Stores a complete file within the caller's transaction. */
export async function storeFile(
  sql: Sql,
  propertyId: string,
  uploadId: string,
  bytes: Buffer,
): Promise<void> {
  await sql`
    insert into uploads (property_id, id, size, complete) values (${propertyId}, ${uploadId}, ${bytes.length}, true)`;
  for (let seq = 0; seq * CHUNK < bytes.length; seq++) {
    await storeChunk(sql, propertyId, uploadId, seq, bytes.subarray(seq * CHUNK, (seq + 1) * CHUNK));
  }
}

/**
 * Stores an arriving file, chunk by chunk in transactions of their own, so that a slow sender holds none open. A
 * partial file is removed. Answers the file's size. Throws `conflict` where the id has its file, or has had one.
 */
export async function receiveFile(
  db: Database,
  upload: Arriving,
  file: AsyncIterable<Uint8Array>,
): Promise<number> {
  const { propertyId, id } = upload;
  const as = (work: (sql: Sql) => Promise<unknown>) => db.asProperty(propertyId, work);
  await as((sql) => beginFile(sql, upload));
  try {
    let size = 0;
    let seq = 0;
    for await (const chunk of inChunks(file)) {
      await as((sql) => storeChunk(sql, propertyId, id, seq, chunk));
      size += chunk.length;
      seq++;
    }
    await as(
      (sql) => sql`
      update uploads set size = ${size}, complete = true, updated_at = now()
      where property_id = ${propertyId} and id = ${id}`,
    );
    return size;
  } catch (error) {
    // Here alone: a second sender must not remove the file of the first.
    await as((sql) => dropUpload(sql, propertyId, id));
    throw error;
  }
}

/** An import removes its file. The audit row of the file stays, so the link takes no other one then. */
async function beginFile(sql: Sql, { propertyId, id, filename }: Arriving): Promise<void> {
  const begun = await sql`
    insert into uploads (property_id, id, filename) values (${propertyId}, ${id}, ${filename?.slice(0, 300) ?? null})
    on conflict do nothing returning id`;
  const former = await sql`
    select from audit_logs where property_id = ${propertyId} and entity_id = ${id} and action = ${UPLOADED} limit 1`;
  if (begun.length === 0 || former.length > 0) {
    throw new Fault("conflict", { message: "This link has taken its file already." });
  }
}

export async function dropUpload(sql: Sql, propertyId: string, uploadId: string | null): Promise<void> {
  await sql`delete from uploads where property_id = ${propertyId} and id = ${uploadId}`;
}

async function storeChunk(
  sql: Sql,
  propertyId: string,
  uploadId: string,
  seq: number,
  bytes: Buffer,
): Promise<void> {
  await sql`
    insert into upload_chunks (property_id, upload_id, seq, bytes) values (${propertyId}, ${uploadId}, ${seq}, ${bytes})`;
}

async function* inChunks(file: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  let parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of file) {
    parts.push(part);
    size += part.length;
    if (size < CHUNK) continue;
    yield Buffer.concat(parts);
    parts = [];
    size = 0;
  }
  if (size > 0) yield Buffer.concat(parts);
}
