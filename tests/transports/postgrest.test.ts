import { PostgrestClient } from "@supabase/postgrest-js";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type House, startHouse } from "../support/house.ts";

let house: House;
// biome-ignore lint/suspicious/noExplicitAny: the client's types describe a database that it would have generated
let client: PostgrestClient<any, any, any>;

beforeAll(async () => {
  house = await startHouse({ role: "web" });
  client = new PostgrestClient(`${house.baseUrl}/api`, { headers: { "X-Api-Key": house.tenant.key } });
  const players = ["Ann,Gold,100", "Bob,Silver,50", "Cy,Gold,10", "Di,,"].map((line) => {
    const [first_name, tier, adt] = line.split(",");
    return { player_id: first_name, first_name, tier: tier || null, adt: adt ? Number(adt) : null };
  });
  const { error, data } = await client.from("players").insert(players).select("player_id");
  expect(error).toBeNull();
  expect(data).toEqual([
    { player_id: "Ann" },
    { player_id: "Bob" },
    { player_id: "Cy" },
    { player_id: "Di" },
  ]);
});

afterAll(() => house.stop());

test("a PostgREST client filters, orders, pages and counts", async () => {
  const gold = await client
    .from("players")
    .select("player_id,adt", { count: "exact" })
    .eq("tier", "Gold")
    .order("adt", { ascending: false })
    .range(0, 0);
  expect(gold).toMatchObject({ data: [{ player_id: "Ann", adt: 100 }], count: 2, error: null });
  const either = await client
    .from("players")
    .select("player_id")
    .or("tier.is.null,adt.lt.20")
    .order("player_id");
  expect(either.data).toEqual([{ player_id: "Cy" }, { player_id: "Di" }]);
  const listed = await client.from("players").select("player_id").in("first_name", ["Bob", "x,y"]);
  expect(listed.data).toEqual([{ player_id: "Bob" }]);
  const others = await client.from("players").select("player_id").not("tier", "eq", "Gold");
  expect(others.data).toEqual([{ player_id: "Bob" }]);
  const head = await client
    .from("players")
    .select("*", { count: "exact", head: true })
    .ilike("first_name", "%n%");
  expect(head).toMatchObject({ count: 1, error: null });
});

test("a PostgREST client reads one object, or is told that there is not one", async () => {
  const ann = await client.from("players").select("first_name").eq("player_id", "Ann").single();
  expect(ann.data).toEqual({ first_name: "Ann" });
  expect(await client.from("players").select().eq("tier", "Gold").single()).toMatchObject({
    status: 406,
    data: null,
  });
});

test("a PostgREST client changes and deletes what its filters match, and only that", async () => {
  const changed = await client
    .from("players")
    .update({ tier: "Bronze" })
    .eq("player_id", "Di")
    .select("player_id,tier");
  expect(changed.data).toEqual([{ player_id: "Di", tier: "Bronze" }]);
  const deleted = await client.from("players").delete().eq("player_id", "Di");
  expect(deleted.error).toBeNull();
  const { count } = await client.from("players").select("*", { count: "exact", head: true });
  expect(count).toBe(3);
  expect((await house.request("DELETE", "/api/players")).status).toBe(400);
});

test("a PostgREST client reads CSV", async () => {
  const { data } = await client.from("players").select("player_id,tier").order("player_id").csv();
  expect(data).toBe("player_id,tier\nAnn,Gold\nBob,Silver\nCy,Gold\n");
});
