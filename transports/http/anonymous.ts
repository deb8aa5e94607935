import { randomUUID } from "node:crypto";
import { invoke } from "#runtime/funnel/invoke.ts";
import type { Service } from "#runtime/funnel/service.ts";
import type { Catalog } from "#runtime/operation/catalog.ts";
import { type AdmissionControl, addressOf } from "./admission.ts";
import type { HttpContext } from "./handlers.ts";

interface Parts {
  control: AdmissionControl;
  service: Service;
  catalog: Catalog;
}

/** Runs an operation for a person who has not signed in, and answers its result. */
export function anonymously({ control, service, catalog }: Parts) {
  return async <T>(c: HttpContext, name: string, input: object): Promise<T> => {
    const call = {
      actor: { type: "anonymous", id: null } as const,
      transport: "page" as const,
      requestId: randomUUID(),
      ip: addressOf(control, c.env.incoming),
      userAgent: c.req.header("user-agent"),
    };
    const { body } = await invoke(service, catalog.operations.get(name)!, call, input);
    return JSON.parse(body) as T;
  };
}
