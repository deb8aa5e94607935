import fc from "fast-check";
import { SegmentedMessage } from "sms-segments-calculator";
import { describe, expect, test } from "vitest";
import { withOptOut } from "#tools/sms/opt-out-words.ts";
import { lettersBeyondGsm, segmentsOf } from "#tools/sms/segments.ts";

describe("the segments of a text message", () => {
  const texts: [string, string, "GSM-7" | "UCS-2", number][] = [
    ["nothing", "", "GSM-7", 1],
    ["160 letters", "a".repeat(160), "GSM-7", 1],
    ["161 letters", "a".repeat(161), "GSM-7", 2],
    ["307 letters, one more than two parts hold", "a".repeat(307), "GSM-7", 3],
    ["80 brackets, two septets each", "[".repeat(80), "GSM-7", 1],
    [
      "a euro sign that does not fit into the first part",
      `${"a".repeat(152)}€${"a".repeat(150)}`,
      "GSM-7",
      2,
    ],
    ["a euro sign pushed whole into the next part", `${"a".repeat(152)}€${"a".repeat(152)}`, "GSM-7", 3],
    ["70 characters with a curly quote", `’${"a".repeat(69)}`, "UCS-2", 1],
    ["71 characters with a curly quote", `’${"a".repeat(70)}`, "UCS-2", 2],
    ["an emoji that is two units", `${"a".repeat(69)}😀`, "UCS-2", 2],
  ];
  test.each(texts)("%s", (_, text, encoding, count) => {
    expect(segmentsOf(text)).toEqual({ encoding, count });
  });

  test("are what Twilio's own calculator counts", () => {
    const letters = fc.constantFrom(..."aé€[{^\n@ñÇç’😀Ωж…~| ");
    fc.assert(
      fc.property(fc.string({ unit: letters, maxLength: 500 }), (text) => {
        const peer = new SegmentedMessage(text);
        expect(segmentsOf(text)).toEqual({ encoding: peer.encodingName, count: peer.segmentsCount });
      }),
      { numRuns: 150 },
    );
  });

  test("name the letters that make them costly", () => {
    expect(lettersBeyondGsm("It’s “on” – it’s on")).toEqual(["’", "“", "”", "–"]);
  });
});

describe("a text", () => {
  test.each([
    "Double points. Reply STOP to opt out",
    "Double points. Txt STOP=end",
    "Double points. STOP2END",
    'Double points. Reply "STOP" to unsubscribe',
    "Puntos dobles. Responda ALTO para cancelar",
    "Double points, text QUIT to 12345",
  ])("that says how to opt out stays as it is: %s", (text) => {
    expect(withOptOut(text, "Reply STOP to opt out")).toBe(text);
  });

  test.each([
    "Don't stop the fun!",
    "The bus stop is at the door",
    "Double points",
    "Nonstop jazz to end the year",
  ])("that does not, is told to: %s", (text) => {
    expect(withOptOut(text, "Reply STOP to opt out")).toBe(`${text}\nReply STOP to opt out`);
  });
});
