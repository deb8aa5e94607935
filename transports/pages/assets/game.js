// The page works without this. The service has drawn before anything moves here: the picture runs to the answer.
const form = document.querySelector("[data-play]");
const stage = document.querySelector("[data-stage]");
const result = document.querySelector("[data-result]");
const next = document.querySelector("[data-next]");
const again = document.querySelector("[data-again]");
const reveal = document.querySelector("[data-reveal]");
const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;

const ended = (animation) => animation.finished.catch(() => {});

const shows = {
  async wheel({ position }) {
    const wheel = stage.querySelector("[data-wheel]");
    if (position === null) return;
    const slices = Number(stage.dataset.slices);
    const angle = 360 - ((position + 0.5) * 360) / slices;
    const turns = calm ? angle : 5 * 360 + angle;
    const frames = [{ transform: "rotate(0deg)" }, { transform: `rotate(${turns}deg)` }];
    const timing = { duration: calm ? 1 : 4200, easing: "cubic-bezier(.12,.7,.12,1)", fill: "forwards" };
    await ended(wheel.animate(frames, timing));
  },
  async scratch({ face }) {
    const text = stage.querySelector("[data-face]");
    stage.classList.add("on");
    text.textContent = face;
    if (calm) return;
    await scratched(stage.querySelector("canvas"));
  },
  async box({ face }) {
    stage.classList.add("on");
    const text = stage.querySelector("[data-face]");
    text.textContent = face;
    await fade(text);
  },
  async instant({ face }) {
    stage.classList.add("on");
    const text = stage.querySelector("[data-face]");
    text.textContent = face;
    await fade(text);
  },
};

const fade = (element) =>
  ended(element.animate([{ opacity: 0 }, { opacity: 1 }], { duration: calm ? 1 : 700 }));

/** A cover over the real text. It opens itself once 55 % is scratched away, or by the button. */
function scratched(canvas) {
  const [columns, rows] = [24, 12];
  canvas.hidden = false;
  reveal.hidden = false;
  const { width, height } = canvas.getBoundingClientRect();
  canvas.width = width;
  canvas.height = height;
  const pen = canvas.getContext("2d");
  pen.fillStyle = getComputedStyle(document.querySelector(".bar")).backgroundColor;
  pen.fillRect(0, 0, width, height);
  pen.globalCompositeOperation = "destination-out";
  const open = new Set();
  const radius = 26;
  return new Promise((resolve) => {
    const end = () => {
      canvas.hidden = true;
      reveal.hidden = true;
      resolve();
    };
    const scratch = (event) => {
      if (event.type === "pointermove" && event.buttons === 0) return;
      const { left, top } = canvas.getBoundingClientRect();
      const [x, y] = [event.clientX - left, event.clientY - top];
      pen.beginPath();
      pen.arc(x, y, radius, 0, 2 * Math.PI);
      pen.fill();
      for (let column = 0; column < columns; column += 1) {
        for (let row = 0; row < rows; row += 1) {
          const [dx, dy] = [((column + 0.5) * width) / columns - x, ((row + 0.5) * height) / rows - y];
          if (dx * dx + dy * dy < radius * radius) open.add(column * rows + row);
        }
      }
      if (open.size >= 0.55 * columns * rows) end();
    };
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      scratch(event);
    });
    canvas.addEventListener("pointermove", scratch);
    reveal.addEventListener("click", end, { once: true });
    reveal.focus();
  });
}

async function play(event) {
  event.preventDefault();
  const button = form.querySelector("button");
  if (button.disabled) return;
  button.disabled = true;
  const answer = await fetch(form.action, {
    method: "POST",
    headers: { accept: "application/json" },
    body: new URLSearchParams(new FormData(form)),
  }).catch(() => null);
  if (!answer) {
    // Nobody knows whether the play arrived. Pressing again gives the same one.
    button.disabled = false;
    return;
  }
  const outcome = await answer.json().catch(() => null);
  if (!answer.ok || !outcome?.title) {
    location.assign(outcome?.url ?? location.href);
    return;
  }
  button.hidden = true;
  if (!calm) {
    result.textContent = stage.dataset.wait ?? "";
    result.classList.add("waiting");
  }
  form.querySelector("details").hidden = true;
  await shows[stage.dataset.stage](outcome);
  form.hidden = true;
  const text = document.createElement("small");
  text.textContent = outcome.text;
  result.classList.remove("waiting");
  result.replaceChildren(outcome.title, text);
  document.querySelector("[data-left]").textContent = outcome.left;
  next.href = outcome.url;
  next.textContent = outcome.way;
  next.hidden = false;
  again.hidden = !outcome.again;
  // After a play without a prize the next play comes first.
  const isQuiet = !outcome.won && outcome.again;
  next.classList.toggle("quiet", isQuiet);
  again.classList.toggle("quiet", !isQuiet);
  result.focus();
}

form?.addEventListener("submit", play);
