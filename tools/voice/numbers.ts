import { type CountryCode, isSupportedCountry, parsePhoneNumberFromString } from "libphonenumber-js/max";

/** A number to call back: as it is dialed, as it is spoken, and whether the call is free. */
export interface CallbackNumber {
  e164: string;
  spoken: string;
  isTollFree: boolean;
}

/** Null for a text that is no telephone number. */
export function readCallbackNumber(text: string, defaultCountry: string): CallbackNumber | null {
  const country: CountryCode = isSupportedCountry(defaultCountry) ? defaultCountry : "US";
  const number = parsePhoneNumberFromString(text, { defaultCountry: country, extract: false });
  if (!number?.isPossible()) return null;
  const spoken = number
    .formatNational()
    .replace(/[^\d]+/g, " ")
    .trim();
  return { e164: number.number, spoken, isTollFree: number.getType() === "TOLL_FREE" };
}
