/** PROOF=full: the whole numbers of the proof. Otherwise as much of it as notices a mistake within minutes. */
export const isFull = process.env.PROOF === "full";
