/* Keeps the preview of a schedule's rule up to date while somebody types; without it, the button Preview does. */
"use strict";

document.addEventListener("DOMContentLoaded", () => {
  const PAUSE_MS = 350;
  const preview = document.getElementById("jobs-preview");
  if (!preview || !preview.dataset.url) return;
  const form = preview.closest("form");
  const said = document.getElementById("jobs-preview-said");
  const names = preview.dataset.names.split(" ");
  let shown = query();
  let timer;
  let request;

  function query() {
    const typed = new FormData(form);
    const wanted = names.filter((name) => typed.has(name)).map((name) => [name, typed.get(name)]);
    return new URLSearchParams([...wanted, ["schedule", preview.dataset.schedule]]).toString();
  }

  async function refresh() {
    const asked = query();
    if (asked === shown) return;
    request?.abort();
    request = new AbortController();
    preview.setAttribute("aria-busy", "true");
    try {
      const answer = await fetch(`${preview.dataset.url}?${asked}`, { signal: request.signal });
      // A login page is no preview.
      if (!answer.ok || answer.redirected) throw new Error(answer.statusText);
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      preview.replaceChildren(...page.body.childNodes);
      preview.classList.remove("jobs-stale");
      said.textContent = preview.querySelector("[data-said], .errorlist")?.textContent ?? "";
      shown = asked;
    } catch (error) {
      if (error.name === "AbortError") return;
      preview.classList.add("jobs-stale");
    }
    preview.removeAttribute("aria-busy");
  }

  function later() {
    clearTimeout(timer);
    timer = setTimeout(refresh, PAUSE_MS);
  }

  // The calendar of the admin fills in a field without an event, and then gives it the focus.
  for (const event of ["input", "change", "focusin"]) form.addEventListener(event, later);
});
