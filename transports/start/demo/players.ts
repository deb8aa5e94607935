/** The homes of demo players: state, time zone, area codes. */
const PLACES = [
  ["NV", "America/Los_Angeles", ["702", "725", "775"]],
  ["NJ", "America/New_York", ["609", "856", "732"]],
  ["PA", "America/New_York", ["215", "412", "570"]],
  ["MI", "America/Detroit", ["313", "517", "616"]],
  ["CT", "America/New_York", ["203", "860"]],
  ["MS", "America/Chicago", ["228", "601"]],
  ["LA", "America/Chicago", ["225", "504"]],
  ["CO", "America/Denver", ["303", "719"]],
  ["AZ", "America/Phoenix", ["480", "602"]],
  ["CA", "America/Los_Angeles", ["213", "619", "916"]],
] as const;

const FIRST =
  "James Mary Robert Patricia John Jennifer Michael Linda David Elizabeth William Barbara Richard Susan Joseph Jessica Thomas Sarah Carlos Karen Daniel Lisa Mateo Nancy José Sofía Anthony Margaret Wei Sandra Donald Ashley Steven Kimberly Paul Emily Andrew Donna Renée Michelle".split(
    " ",
  );
const LAST =
  "Smith Johnson Williams Brown Jones Garcia Miller Davis Rodriguez Martinez Hernandez Lopez Gonzalez Wilson Anderson Thomas Taylor Moore Jackson Martin Lee Perez Thompson White Harris Sanchez Clark Ramirez Lewis Robinson Walker Young Allen King Wright Scott Torres Nguyen Hill Núñez".split(
    " ",
  );
const TIERS = [
  ["Bronze", 0.5, 8],
  ["Silver", 0.25, 45],
  ["Gold", 0.15, 140],
  ["Platinum", 0.07, 420],
  ["Diamond", 0.03, 1400],
] as const;

const DEMO_HEADER =
  "player_id,first_name,last_name,email,phone,tier,adt,coin_in,lifetime_theo,state,timezone,country,birth_date,status,last_visit_at,email_opt_in,sms_opt_in";

/** A CSV of invented players, the same at each call. Their addresses reach no person. */
export function demoPlayers(count: number, now: Date): string {
  const random = generator(20_260_605);
  const lines = Array.from({ length: count }, (_, index) => player(index, random, now));
  return [DEMO_HEADER, ...lines].join("\r\n");
}

function player(index: number, random: () => number, now: Date): string {
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!;
  const [state, zone, areas] = pick(PLACES);
  const [first, last] = [pick(FIRST), pick(LAST)];
  const [tier, , typical] = tierAt(random());
  const adt = typical * (0.4 + random() * 1.8);
  const visits = 1 + Math.floor(random() * random() * 120);
  const birth = new Date(
    Date.UTC(1940 + Math.floor(random() * 62), Math.floor(random() * 12), 1 + Math.floor(random() * 28)),
  );
  const visited = new Date(now.getTime() - random() ** 3 * 500 * 86_400_000);
  const phone = `+1${pick(areas)}555${String(100 + (index % 100)).padStart(4, "0")}`;
  const email = `${plain(first)}.${plain(last)}.${index + 1}@example.com`;
  return [
    `P${String(10_001 + index)}`,
    first,
    last,
    random() < 0.97 ? email : "",
    random() < 0.93 ? phone : "",
    tier,
    adt.toFixed(2),
    (adt * visits * 11).toFixed(2),
    (adt * visits).toFixed(2),
    state,
    zone,
    "US",
    birth.toISOString().slice(0, 10),
    random() < 0.93 ? "active" : "inactive",
    visited.toISOString(),
    random() < 0.82 ? "yes" : "",
    random() < 0.6 ? "yes" : "",
  ].join(",");
}

function tierAt(share: number): (typeof TIERS)[number] {
  let rest = share;
  for (const step of TIERS) {
    rest -= step[1];
    if (rest <= 0) return step;
  }
  return TIERS[0];
}

function plain(name: string): string {
  return name
    .normalize("NFD")
    .replace(/[^a-zA-Z]/g, "")
    .toLowerCase();
}

/** Mulberry32: a small seeded generator, good enough for figures that look real. */
function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
