import { Fault } from "#runtime/faults.ts";
import { auditRow } from "#runtime/funnel/audit.ts";
import { invoke } from "#runtime/funnel/invoke.ts";
import type { Service } from "#runtime/funnel/service.ts";
import { appendRows } from "#runtime/ledgers.ts";
import type { Catalog } from "#runtime/operation/catalog.ts";
import type { Actor } from "#runtime/operation/context.ts";
import { readTimedToken } from "#runtime/secrets/timed-links.ts";
import { receiveFile, UPLOAD_LINK, UPLOADED, type UploadLink } from "#tools/imports/upload.ts";
import type { AdmissionControl } from "#transports/http/admission.ts";
import { answer } from "#transports/http/answer.ts";
import { readDownload } from "#transports/http/download-link.ts";
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
  await checkActor(service, wanted.actor);
  const call = { ...request.call, actor: wanted.actor, propertyId: wanted.property };
  const outcome = await invoke(service, operation, call, wanted.input);
  return operation.zipped ? answerZip(request, outcome, operation.zipped) : answerFile(request, outcome);
}

async function upload(service: Service, request: AdmittedRequest): Promise<Response> {
  const { c, call, frame } = request;
  const { db, config, directory } = service;
  const link = readTimedToken<UploadLink>(config, UPLOAD_LINK, directory.now(), c.req.param("token") ?? "");
  if (!link) throw expired();
  await checkActor(service, link.actor);
  checkDeclared(c.env.incoming);
  const { property: propertyId, upload: id, filename } = link;
  let size = 0;
  await receiveText(c.env.incoming, async (file) => {
    size = await receiveFile(db, { propertyId, id, filename }, file);
  });
  const row = auditRow({ ...call, actor: link.actor }, UPLOADED, {
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

/** A key that was revoked since then opens nothing. */
async function checkActor({ db }: Service, actor: Actor): Promise<void> {
  if (actor.type !== "api_key") return;
  const found = await db.asSystem(
    (sql) => sql`
      select from api_keys
      where id = ${actor.id} and is_active and revoked_at is null and (expires_at is null or expires_at > now())`,
  );
  if (found.length === 0) throw expired();
}
