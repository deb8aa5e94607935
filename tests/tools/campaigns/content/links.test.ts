import { expect, test } from "vitest";
import { hasLinksOfData } from "#tools/campaigns/content/addresses.ts";
import { checkHosts, checkLinks, flawsIn } from "#tools/campaigns/content/content.ts";
import { workOf } from "../../../support/cpu-time.ts";

const BASE = "http://127.0.0.1:8787";
const flaw = (html: string) => flawsIn({ html }, BASE)[0]?.message ?? null;

test.each([
  ['<meta http-equiv=refresh content="0;url=https://evil.example">', "http-equiv"],
  ["<META content='0>' HTTP-EQUIV='&#114;efresh'>", "http-equiv"],
  ["<iframe src='https://evil.example'></iframe>", "<iframe>"],
  ["<iframe srcdoc='<p>x'></iframe>", "<iframe>"],
  ["< frameset><frame src=x></frameset>", "<frameset>"],
  ["<object data='https://evil.example/a.swf'></object>", "<object>"],
  ["<embed src=https://evil.example/a.swf>", "<embed>"],
  ["<applet code=x></applet>", "<applet>"],
  ["<noembed><!--</noembed>", "<noembed>"],
  ["<base href='https://evil.example/'>", "<base>"],
  ["<SCRIPT>location='https://evil.example'</SCRIPT>", "<script>"],
  ["<svg><a><set attributeName=href to='javascript:alert(1)'/></a></svg>", "<set>"],
  ["<svg><animate attributeName=href values='javascript:x'/></svg>", "<animate>"],
  ["<a title='<>' onclick=\"location='//evil.example'\">x</a>", "onclick"],
  ["<svg/onload=alert(1)>", "onload"],
  ["<form action='http://evil.example'><input name=q></form>", "not https: http://evil.example"],
  ["<input type=image formaction=javascript:alert(1)>", "not https: javascript:alert(1)"],
  ["<map><area href='http://evil.example'></map>", "not https: http://evil.example"],
  ["<link rel=stylesheet href='http://evil.example/a.css'>", "not https: http://evil.example/a.css"],
  ["<svg><use xlink:href='http://evil.example/a.svg#x'/></svg>", "not https: http://evil.example/a.svg#x"],
  ["<svg><a xlink:href='javascript:alert(1)'>x</a></svg>", "not https: javascript:alert(1)"],
  ["<img src='http://evil.example/a.png'>", "not https: http://evil.example/a.png"],
  ["<img src=&#104;ttp://evil.example/a.png>", "not https: http://evil.example/a.png"],
  ["<img src='data:text/html,x'>", "not https: data:text/html"],
  ["<img srcset='https://a.example/1.png 1x, http://evil.example/2.png 2x'>", "http://evil.example/2.png"],
  ["<img srcset='https://a.example/1.png 1x ,http://evil.example/2.png 2x'>", "http://evil.example/2.png"],
  ["<img srcset='https://a.example/1.png ,http://evil.example/2.png'>", "http://evil.example/2.png"],
  ["<img alt='href=' src='http://evil.example/a.png'>", "not https: http://evil.example/a.png"],
  ["<a title='href=' href='http://evil.example'>x</a>", "not https: http://evil.example"],
  ["<a title='src=' href='https://a.example' ping='http://evil.example'>x</a>", "http://evil.example"],
  ["<td background='http://evil.example/a.png'>", "not https: http://evil.example/a.png"],
  ["<video poster=//evil.example/a.png></video>", "not https: //evil.example/a.png"],
  ["<p style='background:url(http://evil.example/a.png)'>", "not https: http://evil.example/a.png"],
  ['<p style="background:url(&quot;http://evil.example/a.png&quot;)">', "http://evil.example/a.png"],
  ["<style>@import 'http://evil.example/a.css';</style>", "not https: http://evil.example/a.css"],
  ["<!--[if mso]><v:fill src='http://evil.example/a.png'/><![endif]-->", "http://evil.example/a.png"],
  ["<a href='https://casino.example@evil.example/'>x</a>", "a user before its host"],
  ["<a href='https://casino.example:443&#64;evil.example/'>x</a>", "a user before its host"],
  [`<a href='${BASE}@evil.example/'>x</a>`, "a user before its host"],
  [`<a href='${BASE}0.evil.example/'>x</a>`, "not https"],
])("%s is refused", (html, said) => {
  expect(flaw(html)).toContain(said);
  expect(() => checkLinks([{ html: "<p>Fine</p>" }, { html }], BASE)).toThrow(said);
});

test.each([
  "<a href='https://casino.example/?a=1,2'>Play</a> <a href=mailto:club@casino.example>Write</a>",
  "<img src='https://cdn.example/a.png' srcset='https://cdn.example/a.png 1x, https://cdn.example/b.png 2x'>",
  "<img src='cid:logo'><img src='data:image/png;base64,iVBORw0KGgo='>",
  "<style>@import url(https://fonts.example/css);.a{background:url('https://cdn.example/a.png')}</style>",
  `<a href='${BASE}/u/1'>Unsubscribe</a><img src="${BASE}/theme/logo">`,
  "<meta http-equiv='X-UA-Compatible' content='IE=edge'><meta http-equiv=Content-Type content='text/html'>",
  "<p>Our online = fun. Data: none. The script of the show; the object: win!</p>",
  "<basefont color=red><settings-x></settings-x><o:OfficeDocumentSettings></o:OfficeDocumentSettings>",
  "<p data-src='http://x.example' title='onward'>Hi</p>",
  "<form action='https://casino.example/enter'><button>Enter</button></form>",
  "<a href='https://social.example/@casino'>Us</a> <a href='https://a.example?to=a@b.example'>Write</a>",
])("%s may be sent", (html) => {
  expect(flaw(html)).toBeNull();
});

test("a text's link with a user before its host is refused", () => {
  const said = (text: string) => flawsIn({ text }, BASE)[0]?.message ?? null;
  expect(said("Play: https://casino.example@evil.example/now")).toContain("a user before its host");
  expect(said(`Play: ${BASE}@evil.example`)).toContain("a user before its host");
  expect(said("Us: https://social.example/@casino, club@casino.example")).toBeNull();
});

test.each([
  ["<a href='www.casino.example/offers'>Play</a>", "www.casino.example/offers"],
  ["<a href=/offers>Play</a>", "/offers"],
  ["<form action='enter'><button>Enter</button></form>", "enter"],
  ["<a href='?a=1'>Play</a>", "?a=1"],
  ["<a title='a > b' class=x HREF = play.html>Play</a>", "play.html"],
  ["<a/href='play.html'>Play</a>", "play.html"],
  ["<!--[if mso]><v:rect href='offers.html'></v:rect><![endif]-->", "offers.html"],
  ["<!--[if !mso]><!--><a href='offers.html'>Play</a><!--<![endif]-->", "offers.html"],
  ["<a title='{{ \"<!--\" }}' href='play.html'>Play</a>", "play.html"],
  ['<img src="logo.png">', "logo.png"],
  ["<img alt='' src=/pictures/logo.png>", "/pictures/logo.png"],
  ["<img src='https://cdn.example/1.png' srcset='https://cdn.example/1.png 1x, 2.png 2x'>", "2.png"],
  ["<img srcset='https://cdn.example/1.png 1x,big.png 2x'>", "big.png"],
  ["<a title='href=' href='play.html'>Play</a>", "play.html"],
  ["<td background='pattern.gif'>x</td>", "pattern.gif"],
  ["<p style='background: url(pattern.gif)'>x</p>", "pattern.gif"],
  ["<style>.a { background: url('pattern.gif') }</style>", "pattern.gif"],
  ["<!--[if mso]><v:fill src='pattern.gif'/><![endif]-->", "pattern.gif"],
])("%s leads nowhere in a message", (html, said) => {
  expect(() => checkHosts(html)).toThrow(`nowhere without its host: ${said};`);
});

test.each([
  "<a href='#top'>Up</a> <a href='https://casino.example'>Play</a> <a href='tel:+18005550100'>Call</a>",
  "<a href='{{ unsubscribe_url }}'>Stop</a> <a href='{% if vip %}https://a.example{% endif %}'>VIP</a>",
  '<td style="background: url(&apos;https://cdn.example/a.png&apos;)" title="see url(abc)">x</td>',
  "<a href=''>Nothing yet</a> <a name='offers'>Offers</a>",
  "<td data-action='toggle' data-href='x'>No link</td> <p>Write href=abc, url(abc), or action = 'play'</p>",
  "<style>a[href='x'] { color: red }</style> <a title='see href=here' href='https://casino.example'>Play</a>",
  "<!-- <a href='old.html'>Old</a> --> <!-- > <a href='old.html'>Old</a> -->",
  "<!-- <img src='old.png'><p style='background:url(old.png)'> -->",
  "<img src='cid:logo'> <img src='data:image/png;base64,iVBORw0KGgo='> <img src='' data-src='later.png'>",
  "<img src='{{ player.custom.picture }}' srcset='{{ player.custom.picture }} 1x, https://cdn.example/2.png 2x'>",
  "<img srcset='data:image/png;base64,iVBORw0KGgo= 1x, https://cdn.example/2.png 2x'> <svg fill='url(#shade)'>",
])("%s leads somewhere", (html) => {
  expect(() => checkHosts(html)).not.toThrow();
});

test.each([
  ["<img src='https://cdn.example/{{ player.tier }}.png'>", true],
  ["<p style='background:url({{ player.custom.picture }})'>", true],
  ["<a href='{{ player.custom.site }}'>x</a>", true],
  ["<a title='href=' href='{{ player.custom.site }}'>x</a>", true],
  ["<a href=https://a.example/?tier={{player.tier}}>x</a>", true],
  ["<p style='background: url( \"a(b).{{ player.tier }}.png\")'>", true],
  ["<p>{{ player.custom.html | raw }}</p>", true],
  ["<a href='{{ unsubscribe_url }}'>x</a> {{ player.first_name }}", false],
])("whether a player's data makes an address of %s: %s", (html, is) => {
  expect(hasLinksOfData(html)).toBe(is);
});

test("broken HTML of any length is read in time", async () => {
  for (const part of [
    "<img srcset=' 1x,",
    "url(//a) <!-- --> ",
    "<a ",
    "<a '",
    '<a "',
    "<a onx",
    "url(",
    "@import ",
    "&#x",
    "<!--",
    "<a href",
    "<img srcset=', ,",
  ]) {
    expect(
      await workOf(() => {
        flaw(part.repeat(100_000));
        checkHosts(part.repeat(100_000));
      }),
      part,
    ).toBeLessThan(2000);
  }
});

test("whether data makes an address is told in time", async () => {
  for (const part of ["href=", "href='", "src = ", "url(", 'url("', "url(x ", "| "]) {
    expect(await workOf(() => hasLinksOfData(part.repeat(100_000))), part).toBeLessThan(2000);
  }
});
