import { expect, test } from "vitest";
import { imageHead } from "#tools/themes/logo/image.ts";
import { isLogo, logoOf, MOST_LOGO_BYTES } from "#tools/themes/logo/logo.ts";

/** The head of a PNG of this size, with some data behind it. */
function png(width: number, height: number, length = 60): Buffer {
  const bytes = Buffer.alloc(length);
  bytes.write("89504e470d0a1a0a0000000d49484452", "hex");
  bytes.writeUInt32BE(width, 16);
  bytes.writeUInt32BE(height, 20);
  return bytes;
}

/** A JPEG of 200 by 80 pixels, whose frame comes behind an application segment and a table of Huffman codes. */
const JPEG = Buffer.concat([
  Buffer.from("ffd8", "hex"),
  Buffer.from("ffe0000a4a46494600010100", "hex"),
  Buffer.from("ffc400040000", "hex"),
  Buffer.from("ffc2000b08", "hex"),
  Buffer.from("005000c8", "hex"),
  Buffer.from("01011100ffd9", "hex"),
]);
const LOSSY = Buffer.from("UklGRiIAAABXRUJQVlA4IBYAAAAwAQCdASoBAAEADsD+JaQAA3AAAAAA", "base64");
const LOSSLESS = Buffer.from("UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA==", "base64");

test.each([
  ["a PNG", png(120, 40), { type: "image/png", width: 120, height: 40 }],
  ["a JPEG", JPEG, { type: "image/jpeg", width: 200, height: 80 }],
  ["a lossy WebP", LOSSY, { type: "image/webp", width: 1, height: 1 }],
  ["a lossless WebP", LOSSLESS, { type: "image/webp", width: 1, height: 1 }],
])("the head of %s is read", (_, bytes, head) => {
  expect(imageHead(bytes)).toEqual(head);
  expect(isLogo(logoOf(bytes)!)).toBe(true);
});

test.each([
  ["SVG", Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>')],
  ["GIF", Buffer.from("GIF89a\u0001\u0000\u0001\u0000", "latin1")],
  ["text with the first bytes of a PNG", Buffer.concat([png(1, 1).subarray(0, 8), Buffer.from("<script>")])],
  ["a picture without width", png(0, 40)],
  ["a small file with a huge picture", png(60_000, 60_000)],
  ["a file that is too large", png(120, 40, MOST_LOGO_BYTES + 1)],
  ["a JPEG that ends before its frame", JPEG.subarray(0, 14)],
  ["a JPEG with a segment of no length", Buffer.from(`ffd8ffe00000${"00".repeat(20)}`, "hex")],
  ["nothing", Buffer.alloc(0)],
])("%s is no logo", (_, bytes) => {
  expect(logoOf(bytes)).toBeNull();
});

test("a data URL that names another type than its bytes have is no logo", () => {
  const url = logoOf(png(120, 40))!;
  expect(isLogo(url.replace("image/png", "image/jpeg"))).toBe(false);
  expect(isLogo(url.replace("image/png", "text/html"))).toBe(false);
  expect(isLogo(`${url}\n`)).toBe(false);
});
