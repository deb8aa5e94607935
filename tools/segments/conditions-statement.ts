/** A bound value; the cast beside its placeholder gives it its SQL type. */
export type Parameter = string | number | boolean | string[] | number[];

/** SQL whose placeholders go on from those that the caller's own statement has before it. */
export interface Fragment {
  text: string;
  params: Parameter[];
}

export interface Statement extends Fragment {
  /** The placeholder of a value, with its cast. Equal values share one. */
  bind(value: Parameter, type: string): string;
  property: string;
  /** The property's time zone. */
  zone: string;
  /** Today's date in the property's time zone, worked out once a statement. */
  today: string;
}

/** `after` counts the parameters that stand before this statement's own. */
export function openStatement(property: string, after: number): Statement {
  const params: Parameter[] = [];
  const places = new Map<string, string>();
  const bind = (value: Parameter, type: string): string => {
    const key = `${type} ${typeof value} ${JSON.stringify(value)}`;
    const place = places.get(key) ?? `$${after + params.push(value)}::${type}`;
    places.set(key, place);
    return place;
  };
  // Bound at first use, so that no statement carries a parameter that its text does not name.
  const own = () => bind(property, "uuid");
  return {
    text: "",
    params,
    bind,
    get property() {
      return own();
    },
    get zone() {
      return `(select z.timezone from properties z where z.id = ${own()})`;
    },
    get today() {
      return `(select (now() at time zone z.timezone)::date from properties z where z.id = ${own()})`;
    },
  };
}
