// Updates: asks for the page again with the version that is displayed, and morphs the elements that have changed.
"use strict";
(() => {
  const EVERY_MS = 1000;
  const DEADLINE_MS = 3000; // of a request
  const SILENT_MS = 5000; // without an answer, the page is not live
  const PRESS_MS = 30000; // the longest that a pressed button delays an update
  const bar = document.getElementById("live");
  const pause = document.getElementById("pause");
  const status = document.getElementById("updates");
  const since = document.getElementById("since");
  if (!document.querySelector("[data-live]")) return;

  let version = document.body.dataset.version ?? "";
  let offset = Number(document.body.dataset.now ?? Date.now()) - Date.now(); // the server's clock minus this one
  let answeredAt = Date.now();
  let askedAt = null; // when the oldest request without an answer was sent
  let trouble = ""; // what the server said of a page that it cannot show
  const isPast = new URLSearchParams(location.search).has("until"); // which does not change by itself
  let paused = isPast && version !== "";
  let pressedAt = 0;
  let asking = false;

  const say = (text) => {
    if (status.textContent !== text) status.textContent = text;
  };

  const tenths = (value) => value.toFixed(1).replace(/\.0$/, "");

  const clock = (ms) => new Date(ms).toISOString().slice(11, 19);

  // Like `span_of` of the server: the largest unit of which there are at least two, to a tenth.
  const span = (ms) => {
    const seconds = Math.max(0, ms) / 1000;
    for (const [name, length] of [["d", 86400], ["h", 3600], ["min", 60]]) {
      if (seconds >= 2 * length) return `${tenths(seconds / length)} ${name}`;
    }
    return `${tenths(seconds)} s`;
  };

  const count = (element, at) => {
    const text = span(Date.now() + offset - at);
    if (element.textContent !== text) element.textContent = text;
  };

  const isSelecting = () => {
    const selection = document.getSelection();
    return selection && !selection.isCollapsed && document.getElementById("main").contains(selection.anchorNode);
  };

  const isPressed = () => Date.now() - pressedAt < PRESS_MS;

  const sentence = () => {
    if (paused) return "Updates are paused.";
    if (trouble) return trouble;
    if (askedAt !== null && Date.now() - Math.max(askedAt, answeredAt) >= SILENT_MS) {
      return `The dashboard has not answered since ${clock(answeredAt + offset)} UTC; retrying.`;
    }
    if (isSelecting()) return "Updates wait while text is selected.";
    return isPressed() && Date.now() - pressedAt > EVERY_MS ? "Updates wait while a button is pressed." : "";
  };

  // Counts ages, whether or not anything answers.
  const tick = () => {
    document.querySelectorAll("[data-at]").forEach((element) => count(element, Number(element.dataset.at)));
    const text = sentence();
    const isSilent = !paused && text.startsWith("The ");
    say(text);
    since.hidden = !isSilent;
    if (isSilent) since.textContent = ` The numbers were current ${span(Date.now() - answeredAt)} ago.`;
    const isRecent = !paused && Date.now() - answeredAt < SILENT_MS;
    document.documentElement.dataset.state = isSilent ? "silent" : !isRecent ? "still" : text ? "waits" : "live";
  };

  // Rows are matched by what they are about, not by their position: a new row at the top moves no other.
  const name = (root) => {
    const seen = new Map();
    root.querySelectorAll("tbody tr").forEach((row) => {
      const place = row.closest("section")?.id ?? "";
      const links = [...row.querySelectorAll("a")].map((link) => link.getAttribute("href"));
      const key = encodeURIComponent([place, row.cells[0]?.textContent, ...links].join("|"));
      const times = (seen.get(key) ?? 0) + 1;
      seen.set(key, times);
      row.id = `row:${key}:${times}`;
    });
  };

  const morph = (page) => {
    name(document);
    name(page);
    const callbacks = {
      // What a person types, opens or moves stays.
      beforeNodeMorphed: (before) => !(before instanceof HTMLInputElement) && before !== bar,
      beforeAttributeUpdated: (attribute, element) => !(attribute === "open" && element instanceof HTMLDetailsElement),
      beforeNodeRemoved: (node) => node !== bar,
    };
    const focused = document.activeElement;
    for (const selector of ["header", "main"]) {
      Idiomorph.morph(document.querySelector(selector), page.querySelector(selector), { callbacks });
    }
    if (focused !== document.activeElement && focused.isConnected) focused.focus({ preventScroll: true });
    document.title = page.title;
  };

  const took = (answer) => {
    [answeredAt, askedAt] = [Date.now(), null];
    const [now, committed] = ["Tidemark-Now", "Tidemark-Committed"].map((name) => Number(answer.headers.get(name)));
    if (!now) return;
    offset = now - Date.now();
    document.querySelectorAll("[data-committed]").forEach((element) => {
      element.dataset.at = committed;
      // Many open pages, or slow ones, are read less often than batches are committed.
      const older = committed - Number(element.dataset.committed);
      document.getElementById("older").textContent = older < 2000 ? "" : ` The numbers are ${span(older)} older.`;
    });
  };

  const ask = async () => {
    askedAt ??= Date.now();
    let answer, text;
    try {
      const signal = AbortSignal.timeout(DEADLINE_MS);
      answer = await fetch(location.href, { cache: "no-store", signal, headers: { "Tidemark-Version": version } });
      text = await answer.text();
    } catch {
      return; // `tick` says since when nothing answers
    }
    if (answer.status === 401) {
      location.reload();
      return;
    }
    const page = answer.status === 204 ? null : new DOMParser().parseFromString(text, "text/html");
    if (answer.status >= 500 && version !== "") { // the numbers stay
      trouble = page.querySelector(".notice")?.textContent ?? "The dashboard cannot read the tables.";
      askedAt = null;
      return;
    }
    trouble = "";
    took(answer);
    // The next answer has the change, too.
    if (!page || paused || isSelecting() || isPressed()) return;
    morph(page);
    const isFirst = version === "";
    version = page.body.dataset.version ?? "";
    if (isPast && isFirst && version !== "") paused = true;
    show();
  };

  const look = async () => {
    if (asking || paused || document.hidden) return;
    asking = true;
    try {
      await ask();
    } finally {
      asking = false;
    }
    tick();
  };

  const show = () => {
    pause.textContent = paused ? "Resume updates" : "Pause updates";
    pause.setAttribute("aria-pressed", String(paused));
    tick();
  };

  bar.hidden = false;
  pause.addEventListener("click", () => {
    paused = !paused;
    if (!paused) askedAt = null;
    show();
    look();
  });
  addEventListener("pointerdown", (event) => { if (event.button === 0) pressedAt = Date.now(); });
  for (const end of ["click", "pointercancel"]) addEventListener(end, () => { pressedAt = 0; });
  // A click follows its pointerup at once, if at all.
  addEventListener("pointerup", () => setTimeout(() => { pressedAt = 0; }));
  document.addEventListener("visibilitychange", look);
  show();
  setInterval(tick, 500);
  setInterval(look, EVERY_MS);
})();
