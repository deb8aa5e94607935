import { tool } from "#runtime/operation/operation.ts";
import { Theme, themeOf } from "./theme.ts";

export default tool({
  name: "get_property_theme",
  title: "Get the look of players' pages and mails",
  description:
    "Returns the theme of the pages and mails that players see: colours by day and in dark mode, logo, name, typeface, language. A property without one has the default.",
  scope: "read",
  effect: "read",
  input: {},
  output: Theme,
  faults: [],
  handler: themeOf,
});
