import { createDecipheriv, createECDH, createPublicKey, hkdfSync, randomBytes, verify } from "node:crypto";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";

/** A message as a browser's push service got it, decrypted with the browser's keys. */
export interface Pushed {
  headers: IncomingMessage["headers"];
  /** The claims of the verified VAPID token. */
  vapid: { aud: string; exp: number; sub: string };
  /** The public key that signed the token, base64url. */
  key: string;
  payload: string;
}

export interface Browser {
  subscription: { endpoint: string; p256dh: string; auth: string };
  pushed: Pushed[];
  /** The answers of the next requests; 201 when there is none. */
  answers: { status: number; headers?: Record<string, string> }[];
}

/** A push service (RFC 8030) with browsers of its own. It refuses a request whose VAPID token is not right. */
export async function openPushService() {
  const browsers = new Map<string, Browser & { secret: Keys }>();
  const server = createServer(async (request, response) => {
    const browser = browsers.get(request.url ?? "");
    const body = await buffer(request);
    if (!browser) return void response.writeHead(404).end();
    const answer = browser.answers.shift() ?? { status: 201 };
    if (answer.status < 300) {
      try {
        browser.pushed.push({
          ...tokenOf(request),
          headers: request.headers,
          payload: decrypt(body, browser.secret),
        });
      } catch (error) {
        return void response.writeHead(400).end(String(error));
      }
    }
    response.writeHead(answer.status, { location: `${base()}/message/1`, ...answer.headers }).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const base = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    browser(): Browser {
      const pair = createECDH("prime256v1");
      const secret: Keys = {
        publicKey: pair.generateKeys(),
        privateKey: pair.getPrivateKey(),
        auth: randomBytes(16),
      };
      const path = `/push/${randomBytes(8).toString("hex")}`;
      const subscription = {
        endpoint: base() + path,
        p256dh: secret.publicKey.toString("base64url"),
        auth: secret.auth.toString("base64url"),
      };
      const browser = { subscription, secret, pushed: [], answers: [] };
      browsers.set(path, browser);
      return browser;
    },
    close: () => new Promise((resolve) => server.close(resolve)),
  };
}

export interface Keys {
  publicKey: Buffer;
  privateKey: Buffer;
  auth: Buffer;
}

/** The text of a body in the coding aes128gcm, by RFC 8188 and RFC 8291. */
export function decrypt(body: Buffer, { publicKey, privateKey, auth }: Keys): string {
  const salt = body.subarray(0, 16);
  const senderKey = body.subarray(21, 21 + body[20]!);
  const sealed = body.subarray(21 + body[20]!);
  const pair = createECDH("prime256v1");
  pair.setPrivateKey(privateKey);
  const info = Buffer.concat([Buffer.from("WebPush: info\0"), publicKey, senderKey]);
  const secret = Buffer.from(hkdfSync("sha256", pair.computeSecret(senderKey), auth, info, 32));
  const derive = (what: string, length: number) =>
    Buffer.from(hkdfSync("sha256", secret, salt, `Content-Encoding: ${what}\0`, length));
  const opened = createDecipheriv("aes-128-gcm", derive("aes128gcm", 16), derive("nonce", 12));
  opened.setAuthTag(sealed.subarray(-16));
  const plain = Buffer.concat([opened.update(sealed.subarray(0, -16)), opened.final()]);
  const end = plain.lastIndexOf(2);
  if (end < 0) throw new Error("no last record");
  return plain.subarray(0, end).toString("utf8");
}

/** The claims of a request's VAPID token (RFC 8292). Throws when its key has not signed it, or it names another host. */
function tokenOf({ headers }: IncomingMessage): Pick<Pushed, "vapid" | "key"> {
  const { t = "", k = "" } =
    /^vapid t=(?<t>[^,]+), k=(?<k>[\w-]+)$/.exec(headers.authorization ?? "")?.groups ?? {};
  const [head = "", claims = "", signature = ""] = t.split(".");
  const point = Buffer.from(k, "base64url");
  const jwk = { kty: "EC", crv: "P-256", x: part(point, 1), y: part(point, 33) };
  const key = createPublicKey({ key: jwk, format: "jwk" });
  const signed = Buffer.from(`${head}.${claims}`);
  const isGood = verify(
    "sha256",
    signed,
    { key, dsaEncoding: "ieee-p1363" },
    Buffer.from(signature, "base64url"),
  );
  if (!isGood) throw new Error("the token is not signed by its key");
  const vapid = JSON.parse(Buffer.from(claims, "base64url").toString());
  if (vapid.aud !== `http://${headers.host}`) throw new Error("the token is for another push service");
  return { vapid, key: k };
}

function part(point: Buffer, from: number): string {
  return point.subarray(from, from + 32).toString("base64url");
}
