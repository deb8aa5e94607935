/** A count with its words, which may go on with a verb: "1 player enters", "1,200 players enter". */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString("en-US")} ${count === 1 ? one : many}`;
}
