// Comfort, and nothing that a page needs: without this file every page works by its buttons.
"use strict";

const PAUSE = 350; // milliseconds after the last change before a preview is asked for

function follow(form, preview, said) {
  // Keep the preview true to the form: ask again after each change, and let nobody pay for an older one.
  let timer = 0;
  let asked = 0;

  async function renew() {
    const mine = ++asked;
    preview.setAttribute("aria-busy", "true");
    try {
      const answer = await fetch(form.dataset.preview, {
        method: "POST",
        body: new URLSearchParams(new FormData(form)),
        redirect: "error",
      });
      const text = await answer.text();
      if (mine === asked && (answer.status === 429 || answer.status === 503)) {
        // Busy: ask again in a moment, as the service says.
        timer = setTimeout(renew, 1000 * Number(answer.headers.get("Retry-After") ?? 1));
        return;
      }
      if (mine === asked && (answer.ok || answer.status === 401)) {
        preview.innerHTML = text;
        // Read out in one sentence, and not the whole card after every letter.
        said.textContent = preview.querySelector("[data-said]")?.textContent.trim() ?? "";
      }
    } catch {
      // The service is away: the button still works and the page then says so.
    }
    if (mine === asked) preview.removeAttribute("aria-busy");
  }

  form.addEventListener("input", () => {
    clearTimeout(timer);
    asked += 1;
    preview.setAttribute("aria-busy", "true");
    for (const button of preview.querySelectorAll("button")) button.disabled = true;
    for (const wrong of form.querySelectorAll(".wrong")) wrong.remove();
    timer = setTimeout(renew, PAUSE);
  });
}

function slide(slider, field) {
  // The slider goes by powers of ten; the field beside it is what is sent.
  const place = () => {
    const value = Number(field.value);
    if (value > 0) slider.value = String(Math.log10(value));
    slider.setAttribute("aria-valuetext", `ε = ${field.value}`);
  };
  slider.addEventListener("input", () => {
    field.value = String(Number((10 ** Number(slider.value)).toPrecision(2)));
    slider.setAttribute("aria-valuetext", `ε = ${field.value}`);
  });
  field.addEventListener("input", place);
  slider.hidden = false;
  place();
}

function find(form, epsilon) {
  // Put the smallest ε into its field that is as accurate as was said; without this the button does it by a page.
  const part = form.querySelector("#accuracy");
  const button = part?.querySelector("button");
  const slider = part?.querySelector("input[type=range]");
  const users = form.querySelector("#appears_at");
  if (!button || !slider || !users) return;

  async function ask() {
    const body = new URLSearchParams(new FormData(form));
    body.set(button.name, button.value);
    part.setAttribute("aria-busy", "true");
    try {
      const answer = await fetch(form.action, { method: "POST", body });
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const found = page.querySelector("#epsilon");
      if (!answer.ok || !found) throw new Error("no form came back");
      const wrong = page.querySelector("#accuracy .wrong");
      if (!wrong) epsilon.value = found.value;
      epsilon.dispatchEvent(new Event("input", { bubbles: true }));
      if (wrong) form.querySelector(`#${wrong.id.replace("-wrong", "")}`)?.after(document.importNode(wrong, true));
    } catch {
      form.requestSubmit(button); // the page then says what is the matter
    }
    part.removeAttribute("aria-busy");
  }

  const place = () => {
    const value = Number(users.value);
    if (value > 0) slider.value = String(Math.log10(value));
    slider.setAttribute("aria-valuetext", users.value ? `${users.value} users` : "not said");
  };
  slider.addEventListener("input", () => {
    users.value = String(Math.round(Number((10 ** Number(slider.value)).toPrecision(2))));
    slider.setAttribute("aria-valuetext", `${users.value} users`);
  });
  slider.addEventListener("change", ask);
  users.addEventListener("input", place);
  button.addEventListener("click", (event) => {
    event.preventDefault();
    ask();
  });
  slider.hidden = false;
  place();
}

const form = document.querySelector("form[data-preview]");
const preview = document.querySelector("#preview");
if (form && preview) {
  follow(form, preview, document.querySelector("#said"));
  const slider = form.querySelector("input[type=range]");
  const field = form.querySelector("#epsilon");
  if (slider && field) slide(slider, field);
  if (field) find(form, field);
  // A question is paid for once even without this; it saves the wait of wondering whether it was sent.
  preview.addEventListener("submit", (event) => {
    for (const button of event.target.querySelectorAll("button")) {
      button.disabled = true;
      button.textContent = "Asking …";
    }
  });
}
