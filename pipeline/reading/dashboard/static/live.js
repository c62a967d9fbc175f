// Updates: fetches the page again, and replaces each section with `data-live` that has changed.
"use strict";
(() => {
  const EVERY_MS = 1000;
  const bar = document.getElementById("live");
  const pause = document.getElementById("pause");
  const status = document.getElementById("told");
  const sections = () => [...document.querySelectorAll("[data-live]")];
  const displayed = new Map(sections().map((section) => [section.id, section.innerHTML]));
  let paused = new URLSearchParams(location.search).has("until");
  let failing = false;

  const say = (text) => {
    if (status.textContent !== text) status.textContent = text;
  };

  // Sections in which a person types or selects text are not replaced.
  const isInUse = (section) => {
    const at = document.activeElement;
    const selection = document.getSelection();
    const isTyping = at && section.contains(at) && at.tagName === "INPUT";
    const isSelecting = selection && !selection.isCollapsed && section.contains(selection.anchorNode);
    return isTyping || isSelecting;
  };

  const place = (element, section) => {
    const all = [...section.querySelectorAll("a, button, summary, [tabindex]")];
    return all.indexOf(element);
  };

  const put = (section, html) => {
    const opened = [...section.querySelectorAll("details[open]")].map((element) => element.id);
    const scrolled = [...section.querySelectorAll(".scroll")].map((element) => element.scrollLeft);
    const focused = section.contains(document.activeElement) ? place(document.activeElement, section) : -1;
    section.innerHTML = html;
    opened.forEach((id) => document.getElementById(id)?.setAttribute("open", ""));
    section.querySelectorAll(".scroll").forEach((element, index) => { element.scrollLeft = scrolled[index] ?? 0; });
    if (focused >= 0) {
      section.querySelectorAll("a, button, summary, [tabindex]")[focused]?.focus({ preventScroll: true });
    }
  };

  const update = (page) => {
    const sectionsNow = [...page.querySelectorAll("[data-live]")];
    if (sectionsNow.map((element) => element.id).join() !== sections().map((element) => element.id).join()) {
      location.reload();
      return;
    }
    sectionsNow.forEach((next) => {
      const section = document.getElementById(next.id);
      if (displayed.get(next.id) === next.innerHTML || isInUse(section)) return;
      put(section, next.innerHTML);
      displayed.set(next.id, next.innerHTML);
    });
  };

  const look = async () => {
    if (paused || document.hidden) return;
    try {
      const answer = await fetch(location.href, { cache: "no-store" });
      if (answer.status === 401) {
        location.reload();
        return;
      }
      update(new DOMParser().parseFromString(await answer.text(), "text/html"));
      failing = false;
      say("");
    } catch {
      if (!failing) say(`The dashboard has not answered since ${new Date().toISOString().slice(11, 19)} UTC; retrying.`);
      failing = true;
    }
  };

  const again = async () => {
    await look();
    setTimeout(again, EVERY_MS);
  };

  const show = () => {
    pause.textContent = paused ? "Resume updates" : "Pause updates";
    pause.setAttribute("aria-pressed", String(paused));
  };

  if (sections().length === 0) return;
  bar.hidden = false;
  pause.addEventListener("click", () => {
    paused = !paused;
    show();
    say(paused ? "Updates are paused." : "");
  });
  show();
  setTimeout(again, EVERY_MS);
})();
