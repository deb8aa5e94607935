import { createSocket, type RemoteInfo } from "node:dgram";
import { once } from "node:events";

/** The records of a name: mail servers, name servers, an IPv4 address, or none. `silent` is never answered, `failing` by SERVFAIL. */
export interface Zone {
  mx?: string[];
  ns?: string[];
  a?: string;
  missing?: true;
  silent?: true;
  failing?: true;
}

const TYPES = { 1: "a", 2: "ns", 15: "mx" } as const;
/** As the internet has it. */
export const COM: Zone = { ns: ["a.gtld-servers.net"] };

/** A real DNS server over UDP for the given names, and for `com`; others do not exist. */
export async function dnsServer(given: Record<string, Zone>) {
  const zones: Record<string, Zone> = { com: COM, ...given };
  const socket = createSocket("udp4");
  const asked: string[] = [];
  socket.on("message", (query: Buffer, from: RemoteInfo) => {
    const { name, type, end } = question(query);
    asked.push(`${TYPES[type as keyof typeof TYPES] ?? type} ${name}`);
    const zone = Object.hasOwn(zones, name) ? zones[name]! : { missing: true as const };
    if (zone.silent) return;
    socket.send(reply(query, end, type, zone), from.port, from.address);
  });
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");
  return {
    address: `127.0.0.1:${socket.address().port}`,
    /** The questions, in order. */
    asked,
    zones,
    stop: async () => {
      socket.close();
      await once(socket, "close");
    },
  };
}

function question(query: Buffer): { name: string; type: number; end: number } {
  const labels: string[] = [];
  let at = 12;
  while (query[at]! > 0) {
    labels.push(query.toString("latin1", at + 1, at + 1 + query[at]!));
    at += 1 + query[at]!;
  }
  return { name: labels.join(".").toLowerCase(), type: query.readUInt16BE(at + 1), end: at + 5 };
}

function reply(query: Buffer, end: number, type: number, zone: Zone): Buffer {
  const answers = answersOf(type, zone);
  const header = Buffer.alloc(12);
  query.copy(header, 0, 0, 2);
  header.writeUInt16BE(zone.missing ? 0x8183 : zone.failing ? 0x8182 : 0x8180, 2);
  header.writeUInt16BE(1, 4);
  header.writeUInt16BE(answers.length, 6);
  const records = answers.map((data) => {
    const record = Buffer.alloc(12);
    record.writeUInt16BE(0xc00c, 0);
    record.writeUInt16BE(type, 2);
    record.writeUInt16BE(1, 4);
    record.writeUInt32BE(60, 6);
    record.writeUInt16BE(data.length, 10);
    return Buffer.concat([record, data]);
  });
  return Buffer.concat([header, query.subarray(12, end), ...records]);
}

function answersOf(type: number, zone: Zone): Buffer[] {
  if (type === 15)
    return (zone.mx ?? []).map((name) => Buffer.concat([Buffer.from([0, 10]), nameData(name)]));
  if (type === 2) return (zone.ns ?? []).map(nameData);
  return type === 1 && zone.a ? [addressData(zone.a)] : [];
}

function nameData(name: string): Buffer {
  const labels = name.split(".").filter((label) => label !== "");
  const parts = labels.map((label) => Buffer.concat([Buffer.from([label.length]), Buffer.from(label)]));
  return Buffer.concat([...parts, Buffer.from([0])]);
}

function addressData(address: string): Buffer {
  return Buffer.from(address.split(".").map(Number));
}
