import { Fault } from "#runtime/faults.ts";
import { scopesIn } from "#runtime/funnel/access.ts";
import { auditRow } from "#runtime/funnel/audit.ts";
import { invoke } from "#runtime/funnel/invoke.ts";
import type { Service } from "#runtime/funnel/service.ts";
import { presentActor } from "#runtime/identity/credentials.ts";
import { appendRows } from "#runtime/ledgers.ts";
import type { Catalog } from "#runtime/operation/catalog.ts";
import type { Scope } from "#runtime/operation/context.ts";
import { readTimedToken } from "#runtime/secrets/timed-links.ts";
import { receiveFile, UPLOAD_LINK, UPLOADED, type UploadLink } from "#tools/imports/upload.ts";
import type { AdmissionControl } from "#transports/http/admission.ts";
import { answer } from "#transports/http/answer.ts";
import { type Download, readDownload } from "#transports/http/download-link.ts";
import { type AdmittedRequest, admitted, type Http } from "#transports/http/handlers.ts";
import { answerFile, answerZip } from "./answers.ts";
import { checkDeclared, receiveText } from "./upload-body.ts";

/** Mounts the addresses that give and take files by a link alone. They act as the caller who made the link. */
export function mountFileLinks(
  app: Http,
  control: AdmissionControl,
  service: Service,
  catalog: Catalog,
): void {
  app.get(
    "/downloads/:token",
    admitted(control, (request) => download(service, catalog, request)),
  );
  app.put(
    "/uploads/:token",
    admitted(control, (request) => upload(service, request)),
  );
}

async function download(service: Service, catalog: Catalog, request: AdmittedRequest): Promise<Response> {
  const wanted = readDownload(service, request.c.req.param("token") ?? "");
  const operation = wanted && catalog.operations.get(wanted.operation);
  if (!wanted || !(operation?.file || operation?.zipped)) throw expired();
  const actor = await makerOf(service, wanted, operation.scope);
  const call = { ...request.call, actor, propertyId: wanted.property };
  const outcome = await invoke(service, operation, call, wanted.input);
  return operation.zipped ? answerZip(request, outcome, operation.zipped) : answerFile(request, outcome);
}

async function upload(service: Service, request: AdmittedRequest): Promise<Response> {
  const { c, call, frame } = request;
  const { db, config, directory } = service;
  const link = readTimedToken<UploadLink>(config, UPLOAD_LINK, directory.now(), c.req.param("token") ?? "");
  if (!link) throw expired();
  const actor = await makerOf(service, link, "write");
  checkDeclared(c.env.incoming);
  const { property: propertyId, upload: id, filename } = link;
  let size = 0;
  await receiveText(c.env.incoming, async (file) => {
    size = await receiveFile(db, { propertyId, id, filename }, file);
  });
  const row = auditRow({ ...call, actor }, UPLOADED, {
    ...{ entity: "uploads", entityId: id, diff: { size } },
  });
  await db.asProperty(propertyId, (sql) =>
    appendRows(sql, "audit_logs", [{ ...row, property_id: propertyId }]),
  );
  const body = JSON.stringify({ upload_id: id, size });
  return answer(frame, 201, body, { contentType: "application/json" });
}

function expired(): Fault {
  return new Fault("not_found", { message: "This link is not valid, or has expired. Ask for a new one." });
}

/** The maker of a link as they are now. Throws `not_found` once they may not act in the property any more. */
async function makerOf(
  service: Service,
  { actor, property }: Pick<Download, "actor" | "property">,
  scope: Scope,
) {
  const maker = await presentActor(service, actor);
  const isOpen = maker && (property === undefined || scopesIn(maker, property).includes(scope));
  if (!isOpen) throw expired();
  return maker;
}
