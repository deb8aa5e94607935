import {
  type CountryCode,
  isSupportedCountry,
  type NumberType,
  parsePhoneNumberFromString,
} from "libphonenumber-js/max";

/** A number to call back: as it is dialed, as it is spoken, and what a call to it costs. */
export interface CallbackNumber {
  e164: string;
  spoken: string;
  isTollFree: boolean;
  /** A call costs more than one to any other number. */
  isPremium: boolean;
}

const PREMIUM: readonly (NumberType | undefined)[] = ["PREMIUM_RATE", "SHARED_COST"];

/** Null for a text that is no telephone number. */
export function readCallbackNumber(text: string, defaultCountry: string): CallbackNumber | null {
  const country: CountryCode = isSupportedCountry(defaultCountry) ? defaultCountry : "US";
  const number = parsePhoneNumberFromString(text, { defaultCountry: country, extract: false });
  if (!number?.isPossible()) return null;
  const spoken = number
    .formatNational()
    .replace(/[^\d]+/g, " ")
    .trim();
  const type = number.getType();
  return {
    e164: number.number,
    spoken,
    isTollFree: type === "TOLL_FREE",
    isPremium: PREMIUM.includes(type),
  };
}
