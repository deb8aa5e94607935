interface Document {
  paths: Record<string, object>;
  components: Record<string, Record<string, object>>;
}

/** The parts of an OpenAPI document by file: its paths, its schemas, the other components, and the rest. */
export function openApiParts(document: object): Map<string, object> {
  const { paths, components, ...rest } = document as Document;
  const { schemas = {}, ...others } = components;
  return new Map([
    ["document", rest],
    ...Object.entries(others),
    ...Object.entries(schemas).map(([name, schema]): [string, object] => [`schemas/${name}`, schema]),
    ...Object.entries(paths).map(([path, methods]): [string, object] => [`paths/${fileOf(path)}`, methods]),
  ]);
}

/** `/api/players/{id}` is `players.{id}`. */
function fileOf(path: string): string {
  return path.replace(/^\/(api\/)?/, "").replaceAll("/", ".");
}
