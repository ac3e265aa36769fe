// What pages can do with a script; without one they do all but this.
"use strict";

// say tells a screen reader what happened.
function say(text) {
  document.getElementById("said").textContent = text;
}

// addCopyButtons gives each text that is worth it a button.
function addCopyButtons() {
  for (const text of document.querySelectorAll("[data-copy]")) {
    const button = document.createElement("button");
    const name = text.dataset.copy;
    button.type = "button";
    button.className = "copy";
    button.textContent = "Copy";
    button.setAttribute("aria-label", "Copy " + name);
    button.addEventListener("click", async () => {
      const copied = await copy(text);
      button.textContent = copied ? "Copied" : "Selected";
      say(copied ? "Copied " + name : "Selected " + name + "; copy it with your keyboard");
      setTimeout(() => { button.textContent = "Copy"; }, 2000);
    });
    text.after(button);
  }
}

// copy puts the text of an element on the clipboard. Browsers have one for pages
// that came by HTTPS, or from this machine; elsewhere the text is selected.
async function copy(element) {
  try {
    await navigator.clipboard.writeText(element.textContent);
    return true;
  } catch {
    getSelection().selectAllChildren(element);
    return false;
  }
}

// searchWhileTyping shows what the form would find, with the server's own page.
function searchWhileTyping() {
  const form = document.querySelector("form.search");
  if (!form) return;
  const pause = 150; // milliseconds: a word is typed before the server is asked
  const input = form.elements.search;
  let timer = 0, asked = null, shown = input.value.trim();
  const show = (url) => {
    if (asked) asked.abort();
    asked = new XMLHttpRequest(); // it reads HTML as a document that runs nothing
    asked.responseType = "document";
    asked.onload = () => {
      const found = asked.response;
      const results = found && found.getElementById("results");
      if (!results) { location.assign(url); return; } // such as when the login is over
      document.getElementById("results").replaceWith(document.adoptNode(results));
      document.getElementById("count").textContent = found.getElementById("count").textContent;
      document.title = found.title;
      history.replaceState(null, "", url);
    };
    asked.open("GET", url);
    asked.send();
  };
  input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      const words = input.value.trim();
      if (words === shown) return;
      shown = words;
      show(form.action + (words ? "?" + new URLSearchParams({ search: words }) : ""));
    }, pause);
  });
}

addCopyButtons();
searchWhileTyping();
