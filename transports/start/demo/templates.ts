import type { RunOperation } from "./inbox.ts";

/** The head that the templates share: type, dark mode, and the widths of phones. */
function head(preview: string): string {
  return `<mj-head>
    <mj-title>{{ property.name }}</mj-title>
    <mj-preview>${preview}</mj-preview>
    <mj-attributes>
      <mj-all font-family="system-ui,-apple-system,'Segoe UI',Roboto,Arial,sans-serif" />
      <mj-text font-size="16px" line-height="1.55" color="#1b1f24" padding="0 32px 16px" />
      <mj-button background-color="#12463c" color="#ffffff" font-size="16px" font-weight="600" border-radius="8px" inner-padding="14px 28px" padding="8px 32px 28px" align="left" />
      <mj-section padding="0" />
      <mj-class name="small" font-size="13px" line-height="1.5" color="#5a6472" />
    </mj-attributes>
    <mj-raw><meta name="color-scheme" content="light dark"><meta name="supported-color-schemes" content="light dark"></mj-raw>
    <mj-style>
      :root { color-scheme: light dark }
      .foot a { color: inherit }
      @media (max-width: 480px) { .title div { font-size: 25px !important } }
      @media (prefers-color-scheme: dark) {
        .ground, .ground > div { background-color: #0d1513 !important }
        .paper, .paper > table, .paper td { background: #16211e !important; border-color: #7fd1b9 !important }
        .paper div, .brand div { color: #eceae6 !important }
        .foot div { color: #a9adb5 !important }
        .accent div { color: #e8c06a !important }
        .paper a:not([style*="background"]) { color: #7fd1b9 !important }
        .button td, .button a { background: #7fd1b9 !important; color: #06201a !important }
      }
    </mj-style>
  </mj-head>`;
}

const BRAND = `<mj-section><mj-column>
      <mj-text css-class="brand" font-size="18px" font-weight="700" color="#12463c" padding="24px 8px 16px">{{ property.name }}</mj-text>
    </mj-column></mj-section>`;

const FOOT = `<mj-section><mj-column>
      <mj-text css-class="foot" mj-class="small" padding="20px 8px 0">{{ property.legal_name }}<br />{{ property.postal_address }}</mj-text>
      <mj-text css-class="foot" mj-class="small" padding="8px 8px 0">{{ property.responsible_gaming_footer }}</mj-text>
      <mj-text css-class="foot" mj-class="small" padding="8px 8px 24px"><a href="{{ unsubscribe_url }}" style="color:inherit">Unsubscribe</a> · <a href="{{ preferences_url }}" style="color:inherit">Preferences</a> · <a href="{{ property.privacy_policy_url }}" style="color:inherit">Privacy policy</a></mj-text>
    </mj-column></mj-section>`;

function letter(preview: string, paper: string): string {
  return `<mjml lang="en">
  ${head(preview)}
  <mj-body background-color="#f4efe6" css-class="ground" width="600px">
    ${BRAND}
    <mj-wrapper css-class="paper" background-color="#ffffff" border-top="4px solid #12463c" border-radius="8px" padding="32px 0 4px">
      ${paper}
    </mj-wrapper>
    ${FOOT}
  </mj-body>
</mjml>`;
}

const title = (words: string) =>
  `<mj-text css-class="title" font-size="28px" line-height="1.25" font-weight="700">${words}</mj-text>`;
const button = (words: string, path: string) =>
  `<mj-button css-class="button" href="https://demo-casino.example/${path}">${words}</mj-button>`;
const column = (content: string) => `<mj-section><mj-column>${content}</mj-column></mj-section>`;

const OFFER = letter(
  "Friday to Sunday, on your card already.",
  column(`
        ${title('{{ first_name | default: "Hello" }}, $25 to play with')}
        <mj-text>As a <strong>{{ tier | default: "club" }}</strong> member you have free play this weekend. It is on your card already: insert it at any machine.</mj-text>
        <mj-text css-class="accent" font-size="44px" line-height="1.1" font-weight="700" color="#8a5a00">$25 free play</mj-text>
        <mj-text mj-class="small">Friday 10 am to Sunday midnight. One offer a member.</mj-text>
        ${button("See my offer", "offers/weekend")}`),
);

const EVENT = letter(
  "An evening for members, with two places for you.",
  `${column(`
        ${title("An evening in the Harbor Room")}
        <mj-text>{{ first_name | default: "Hello" }}, we open the Harbor Room for our members: dinner by the water, live jazz, and a draw at ten.</mj-text>`)}
      <mj-section padding="0 20px 8px">
        <mj-column width="50%" padding="0 12px"><mj-text padding="0 0 16px"><strong>When</strong><br />Saturday, 7 pm<br />Doors at 6.30</mj-text></mj-column>
        <mj-column width="50%" padding="0 12px"><mj-text padding="0 0 16px"><strong>Where</strong><br />Harbor Room<br />Second floor, east wing</mj-text></mj-column>
      </mj-section>
      ${column(`
        ${button("Keep two places", "events/harbor-room")}
        <mj-text mj-class="small">Places go in the order of answers, until Thursday.</mj-text>`)}`,
);

const WIN_BACK = letter(
  "Your points are safe, and there is something new.",
  column(`
        ${title('{{ first_name | default: "Hello" }}, it has been a while')}
        <mj-text>Your points are where you left them. Since your last visit we have opened a new slot floor, and the steak house is back.</mj-text>
        <mj-text>Come by in the next two weeks, and the <strong>first coffee and $10 of play are on us</strong>.</mj-text>
        ${button("Plan a visit", "welcome-back")}
        <mj-text mj-class="small">Rather not hear from us so often? Choose what you get under Preferences.</mj-text>`),
);

/** Three designs to begin with. */
export async function createTemplates(run: RunOperation): Promise<void> {
  const create = (name: string, subject: string, mjml: string) =>
    run("create_template", { name, channel: "email", engine: "mjml", subject, mjml });
  await create("Offer", '{{ first_name | default: "Hello" }}, your weekend free play is here', OFFER);
  await create("Event", "An evening in the Harbor Room", EVENT);
  await create("Win-back", "Your points are waiting", WIN_BACK);
}
