import { z } from "zod";
import { tool } from "#runtime/operation/operation.ts";
import { DEFAULT_THEME, themeOf } from "#tools/themes/theme.ts";
import { mermaidOf } from "./drawing/mermaid.ts";
import { edgeWords, pictureOf } from "./drawing/picture.ts";
import { svgOf } from "./drawing/svg.ts";
import { PICTURE_LANGUAGES, PICTURE_WORDS } from "./drawing/words.ts";
import { findJourney } from "./journey/journey.ts";
import { findVersion } from "./journey/version.ts";
import { nodeFigures } from "./report/figures.ts";

export default tool({
  name: "draw_journey",
  title: "Draw a journey",
  description:
    "The picture of a journey with the number of players on each edge and node: as Mermaid text, as SVG, and as a table for screen readers. Default: the published version, else the draft.",
  scope: "read",
  effect: "read",
  property: "propertyId",
  input: {
    journeyId: z.uuid().describe("From list_journeys"),
    propertyId: z.uuid(),
    of: z.enum(["published", "draft"]).optional().describe("Default: the published version if there is one"),
    format: z
      .enum(["mermaid", "svg", "both"])
      .default("mermaid")
      .describe("mermaid: text for chats and terminals. svg: a picture file"),
    colors: z
      .enum(["property", "service"])
      .default("property")
      .describe("Of the SVG. property: as the pages that players see. service: as the console"),
    language: z.enum(PICTURE_LANGUAGES).default("en").describe("Of the words of ours in the picture"),
  },
  output: z.object({
    journey_id: z.uuid(),
    version: z.int().nullable().describe("null: the draft"),
    mermaid: z.string().optional(),
    svg: z.string().optional(),
    table: z
      .array(z.object({ from: z.string(), to: z.string(), way: z.string(), people: z.int().nullable() }))
      .describe("The edges in words"),
  }),
  faults: ["not_found"],
  async handler(context, { journeyId, of, format, colors, language }) {
    const journey = await findJourney(context, journeyId);
    const published =
      of === "draft" || (of === undefined && journey.current_version === null)
        ? null
        : await findVersion(context, journeyId, journey.current_version);
    const figures = published && (await nodeFigures(context, { journeyId, ...published }));
    const definition = published?.definition ?? journey.draft_definition;
    const words = PICTURE_WORDS[language];
    const suffix = published ? ` (${words.version(published.version)})` : ` (${words.draft})`;
    const picture = pictureOf(`${journey.name}${suffix}`, definition, figures, words);
    return {
      journey_id: journeyId,
      version: published?.version ?? null,
      ...(format !== "svg" && { mermaid: mermaidOf(picture) }),
      ...(format !== "mermaid" && {
        svg: svgOf(picture, colors === "service" ? DEFAULT_THEME : await themeOf(context)),
      }),
      table: picture.edges.map((edge) => ({
        from: edge.from,
        to: edge.to,
        way: edgeWords({ ...edge, people: null }),
        people: edge.people,
      })),
    };
  },
});
