import type { Language } from "#tools/themes/theme.ts";

/** The channels that a player turns on at a page of ours. */
export type PageChannel = "email" | "push";

/** A text that a player agrees to by a page of ours. The page shows it, and the ledger keeps it. */
export interface ConsentText {
  text: string;
  version: string;
}

const PAGES: Readonly<Record<PageChannel, string>> = { email: "preference-page", push: "push-page" };

const TEXTS: Readonly<Record<PageChannel, Readonly<Record<Language, (name: string) => string>>>> = {
  email: {
    en: (name) =>
      `Yes, ${name} may send me marketing email. I can stop it at any time by the link in each message.`,
    es: (name) =>
      `Sí, ${name} puede enviarme correos publicitarios. Puedo detenerlos en cualquier momento con el enlace de cada mensaje.`,
    fr: (name) =>
      `Oui, ${name} peut m'envoyer des e-mails publicitaires. Je peux les arrêter à tout moment par le lien de chaque message.`,
    de: (name) =>
      `Ja, ${name} darf mir Werbung per E-Mail senden. Ich kann sie jederzeit über den Link in jeder Nachricht beenden.`,
    zh: (name) => `是的，${name}可以向我发送营销邮件。我可以随时通过每封邮件中的链接停止接收。`,
  },
  push: {
    en: (name) =>
      `Yes, ${name} may send me marketing notifications in this browser. I can stop them at any time on this page or in the browser's settings.`,
    es: (name) =>
      `Sí, ${name} puede enviarme notificaciones publicitarias en este navegador. Puedo detenerlas en cualquier momento en esta página o en los ajustes del navegador.`,
    fr: (name) =>
      `Oui, ${name} peut m'envoyer des notifications publicitaires dans ce navigateur. Je peux les arrêter à tout moment sur cette page ou dans les réglages du navigateur.`,
    de: (name) =>
      `Ja, ${name} darf mir Werbung als Benachrichtigungen in diesem Browser senden. Ich kann sie jederzeit auf dieser Seite oder in den Einstellungen des Browsers beenden.`,
    zh: (name) => `是的，${name}可以在此浏览器中向我发送营销通知。我可以随时在此页面或浏览器设置中停止接收。`,
  },
};

/** The text in the language of the page. Each language's wording has a version of its own. */
export function consentTextOf(channel: PageChannel, language: Language, name: string): ConsentText {
  const version = `${PAGES[channel]}-1${language === "en" ? "" : `-${language}`}`;
  return { text: TEXTS[channel][language](name), version };
}
