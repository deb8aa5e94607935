import type { Database } from "#db/database.ts";
import type { Page, Reader } from "#db/query/reader.ts";
import type { ExportStream } from "#db/stream/export.ts";
import type { Config } from "#runtime/config.ts";
import type { Fault } from "#runtime/faults.ts";
import type { Directory } from "#runtime/identity/directory.ts";
import type { Sessions } from "#runtime/identity/sessions.ts";
import type { Log } from "#runtime/log.ts";
import type { Context } from "#runtime/operation/context.ts";
import type { Row } from "#runtime/operation/table.ts";
import type { QueuedJob } from "./outbox.ts";

/** The parts that run operations, made once by the composition root. */
export interface Service {
  db: Database;
  reader: Reader;
  directory: Directory;
  sessions: Sessions;
  config: Config;
  log: Log;
  /** Called after a commit that left jobs on the queue. Without the jobs, the workers look in any case. */
  wake(jobs?: readonly QueuedJob[]): void;
}

export interface Outcome {
  status: number;
  /** JSON text. */
  body: string;
  replayed: boolean;
  /** For a list: the data that a face pages by. */
  page?: Page;
  /** Sentences beside the body. */
  warnings?: string[];
  auditId?: string;
  /** The questions for a person, and the hash of the state that they are about. */
  asked?: {
    sentences: string[];
    state: string;
    /** Why a person of the property must approve the call. */
    approval?: string[];
  };
  /** The call was rolled back. */
  dry?: true;
  /** A refusal whose writes were committed. */
  fault?: Fault;
  /** A file instead of the body. Its reader must read it to the end, or cancel it. */
  file?: { filename: string; contentType: string; rows?: number | undefined; stream: ExportStream };
}

/** Locks the rows of a change, in the change's own transaction. */
export type Choose = (context: Context) => Promise<Row[]>;
