import { claim } from "./areas/claim.ts";
import { confirmations } from "./areas/confirmations.ts";
import { erasure } from "./areas/erasure.ts";
import { figures } from "./areas/figures.ts";
import { frequency } from "./areas/frequency.ts";
import { gate } from "./areas/gate.ts";
import { hours } from "./areas/hours.ts";
import { idempotency } from "./areas/idempotency.ts";
import { journeys } from "./areas/journeys.ts";
import { ledger } from "./areas/ledger.ts";
import { links } from "./areas/links.ts";
import { masking } from "./areas/masking.ts";
import { queue } from "./areas/queue.ts";
import { reader } from "./areas/reader.ts";
import { record } from "./areas/record.ts";
import { stopping } from "./areas/stopping.ts";
import { tenancy } from "./areas/tenancy.ts";
import { vendors } from "./areas/vendors.ts";
import { webhooks } from "./areas/webhooks.ts";
import { writes } from "./areas/writes.ts";
import type { Area } from "./change.ts";

export const AREAS: readonly Area[] = [
  gate,
  hours,
  frequency,
  claim,
  stopping,
  record,
  ledger,
  idempotency,
  confirmations,
  tenancy,
  reader,
  webhooks,
  queue,
  erasure,
  masking,
  vendors,
  writes,
  journeys,
  links,
  figures,
];
