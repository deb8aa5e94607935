// Computes the draw again by WebCrypto: the page asks nobody. Without it the page shows all that a check needs.
const proof = document.querySelector("[data-proof]");
const verdict = document.querySelector("[data-verdict]");
const bytes = (text) => new TextEncoder().encode(text);
const hex = (buffer) =>
  [...new Uint8Array(buffer)].map((byte) => byte.toString(16).padStart(2, "0")).join("");

async function numberBelow(seed, message, limit) {
  const key = await crypto.subtle.importKey("raw", seed, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  const bits = 32 - Math.clz32(limit - 1);
  for (let cursor = 0; ; cursor += 1) {
    const digest = await crypto.subtle.sign("HMAC", key, bytes(`${message}:${cursor}`));
    const drawn = Number(new DataView(digest).getBigUint64(0) >> BigInt(64 - bits));
    if (drawn < limit) return drawn;
  }
}

async function check({ seed, hash, word, play, drawn, of, number }) {
  const raw = Uint8Array.from(seed.match(/../g), (pair) => Number.parseInt(pair, 16));
  const isSeed = hex(await crypto.subtle.digest("SHA-256", raw)) === hash;
  if (number !== "yes") return isSeed ? null : false;
  return isSeed && (await numberBelow(raw, `${word}:${play}`, Number(of))) === Number(drawn);
}

// Browsers keep WebCrypto from pages without TLS, but for localhost.
if (proof && globalThis.crypto?.subtle) {
  const isRight = await check(proof.dataset);
  if (isRight !== null) {
    verdict.textContent = isRight ? verdict.dataset.good : verdict.dataset.bad;
    verdict.classList.toggle("good", isRight);
  }
}
