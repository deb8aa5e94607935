import { describe, expect, test } from "vitest";
import { outgoing } from "#runtime/network/outgoing.ts";
import { AddressRefused, type OutgoingOptions, refuseUrl } from "#runtime/network/public-address.ts";

const STRICT: OutgoingOptions = { allowPrivate: false, allowHttp: false };
const PLAIN: OutgoingOptions = { allowPrivate: false, allowHttp: true };
const LOCAL: OutgoingOptions = { allowPrivate: true, allowHttp: true };
const words = (text: string) => text.trim().split(/\s+/);

// First and last of each IPv4 range; then IPv6, and IPv4 wrapped in it.
const CLOSED_ADDRESSES = words(`
  0.0.0.0 0.255.255.255 10.0.0.1 10.255.255.255 100.64.0.1 100.100.100.200 100.127.255.255 127.0.0.1
  127.255.255.254 168.63.129.16 169.254.169.254 169.254.170.2 172.16.0.1 172.31.255.255 192.0.0.1
  192.0.0.192 192.0.2.1 192.88.99.1 192.168.0.1 192.168.255.255 198.18.0.1 198.19.255.255
  198.51.100.1 203.0.113.1 224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255 :: ::1 ::127.0.0.1
  ::ffff:127.0.0.1 ::ffff:10.0.0.1 ::ffff:7f00:1 ::ffff:8.8.8.8 ::ffff:0:127.0.0.1
  64:ff9b::127.0.0.1 64:ff9b::a9fe:a9fe 64:ff9b:1::a00:1 100::1 2001::1 2001:0:7f00:1:: 2001:2::1
  2001:10::1 2001:20::1 2001:db8::1 2002:7f00:1:: 2002:a00:1::1 3fff::1 5f00::1 fc00::1
  fd00:ec2::254 fd20:ce::254 fe80::1 fec0::1 ff02::1 ff0e::1
`);

const ENCODINGS = words(`
  0x7f.1 0x7f000001 0x7F.0x0.0x0.0x1 2130706433 017700000001 0177.0.0.1 127.1 127.0.1 127.0.0.1. 0
  0x0 00000000177.1 127%2e0.0.1 %31%32%37.0.0.1 １２７.０.０.１ ①②⑦.0.0.1 127。0。0。1 3232235521 0xa9fea9fe
  2852039166 0xa9.0xfe.43518 [::FFFF:127.0.0.1] [0:0:0:0:0:0:0:1] [0000::0001] [::ffff:0x7f.1]
  [::ffff:7f00:0001] [fe80::1%25eth0] localhost LOCALHOST localhost. localhost.. 127.0.0.1..
  a.localhost localhost.localdomain ｌocalhost printer.local metadata.google.internal metadata.google.internal.
  router.home.arpa intranet db kubernetes
`);

describe("an address that is not on the public internet", () => {
  test.each(CLOSED_ADDRESSES)("%s is refused as a literal", (address) => {
    const host = address.includes(":") ? `[${address}]` : address;
    expect(refuseUrl(`https://${host}/hook`, STRICT)).toEqual(expect.any(String));
    expect(refuseUrl(`http://${host}:8080/hook`, PLAIN)).toEqual(expect.any(String));
  });

  test.each([...CLOSED_ADDRESSES, "fe80::1%eth0"])(
    "%s is refused as the answer for a name",
    async (address) => {
      const family = address.includes(":") ? 6 : 4;
      const target = outgoing(PLAIN, async () => [{ address, family }]);
      await expect(
        target.post({ url: "http://hooks.example.com/", headers: {}, body: "{}" }),
      ).rejects.toThrow(AddressRefused);
    },
  );

  test.each(ENCODINGS)("%s is refused however it is written", async (host) => {
    expect(refuseUrl(`https://${host}/`, STRICT)).toEqual(expect.any(String));
    await expect(outgoing(PLAIN).post({ url: `http://${host}/`, headers: {}, body: "{}" })).rejects.toThrow(
      AddressRefused,
    );
  });
});

test.each([
  ["not a URL", "hooks.example.com"],
  ["empty", ""],
  ["without a host", "https://"],
  ["plain HTTP", "http://hooks.example.com/"],
  ["a file", "file:///etc/passwd"],
  ["another protocol", "gopher://hooks.example.com/"],
  ["a script", "javascript:alert(1)"],
  ["a user and a password", "https://user:secret@hooks.example.com/"],
  ["a user", "https://user@hooks.example.com/"],
  ["endless", `https://hooks.example.com/${"x".repeat(2048)}`],
  ["a user that looks like the host", "https://hooks.example.com@127.0.0.1/"],
])("a receiver's URL that is %s is refused", (_, url) => {
  expect(refuseUrl(url, STRICT)).toEqual(expect.any(String));
});

test.each([
  "https://hooks.example.com/path?x=1",
  "https://hooks.example.com:8443/",
  "https://8.8.8.8/",
  "https://172.32.0.1/",
  "https://100.128.0.1/",
  "https://[2606:4700::1111]/",
  "https://xn--mnchen-3ya.example/",
  "https://münchen.example/",
  "https://mylocal.example/",
])("the public receiver %s is accepted", (url) => {
  expect(refuseUrl(url, STRICT)).toBeNull();
});

test("development may post to its own machine in plain HTTP, but not by another protocol", () => {
  expect(refuseUrl("http://localhost:3000/hook", LOCAL)).toBeNull();
  expect(refuseUrl("http://[::1]:3000/hook", LOCAL)).toBeNull();
  expect(refuseUrl("ftp://localhost/", LOCAL)).toMatch(/https/);
  expect(
    refuseUrl("http://localhost:3000/", {
      allowPrivate: true,
      allowHttp: false,
    }),
  ).toMatch(/https/);
});
