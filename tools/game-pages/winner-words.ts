interface Words {
  title: string;
  text: string;
  claim: string;
}

/** The message about a won prize, in the languages of the players' pages. */
const LANGUAGES: Readonly<Record<string, (prize: string, game: string) => Words>> = {
  en: (prize, game) => ({
    title: `You have won: ${prize}`,
    text: `The game ${game} has brought you a prize. Claim it to get its code for the players club.`,
    claim: "Claim the prize",
  }),
  es: (prize, game) => ({
    title: `Ha ganado: ${prize}`,
    text: `El juego ${game} le ha dado un premio. Reclámelo para obtener el código para el club de jugadores.`,
    claim: "Reclamar el premio",
  }),
  fr: (prize, game) => ({
    title: `Vous avez gagné : ${prize}`,
    text: `Le jeu ${game} vous a apporté un prix. Réclamez-le pour obtenir son code pour le club des joueurs.`,
    claim: "Réclamer le prix",
  }),
  de: (prize, game) => ({
    title: `Sie haben gewonnen: ${prize}`,
    text: `Das Spiel ${game} hat Ihnen einen Preis gebracht. Fordern Sie ihn an, dann sehen Sie den Code für den Spielerclub.`,
    claim: "Preis anfordern",
  }),
  zh: (prize, game) => ({
    title: `您赢得了：${prize}`,
    text: `您在游戏“${game}”中赢得了奖品。领取后即可看到会员服务台的兑换码。`,
    claim: "领取奖品",
  }),
};

/** In the language of a tag such as es-MX; in English for a language that the pages do not have. */
export function winnerWords(language: string, { label, game }: { label: string; game: string }): Words {
  const [tag = ""] = language.toLowerCase().split("-");
  const say = LANGUAGES[tag] ?? LANGUAGES.en!;
  return say(label, game);
}
