/** A count with its words, which may go on with a verb: "1 player enters", "2 players enter". */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}
