import { z } from "zod";

/** Reference to the job that forgets the browsers of a property's players. */
export const FORGET_DEVICES = { name: "forget_devices", attempts: 10, input: z.object({}) };
