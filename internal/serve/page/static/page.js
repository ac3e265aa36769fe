// Optional enhancements: pages also work without this script.
"use strict";

// announce sends a message to screen readers.
function announce(text) {
  document.getElementById("said").textContent = text;
}

// addCopyButtons adds a button to each text with a data-copy attribute.
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
      announce(copied ? "Copied " + name : "Selected " + name + "; copy it with your keyboard");
      setTimeout(() => { button.textContent = "Copy"; }, 2000);
    });
    text.after(button);
  }
}

// copy copies the text of an element to the clipboard. Browsers allow that only for
// pages from HTTPS or localhost. Otherwise copy selects the text.
async function copy(element) {
  try {
    await navigator.clipboard.writeText(element.textContent);
    return true;
  } catch {
    getSelection().selectAllChildren(element);
    return false;
  }
}

// searchWhileTyping shows the search results while the user types.
function searchWhileTyping() {
  const form = document.querySelector("form.search");
  if (!form) return;
  const pause = 150; // milliseconds without input before a request
  const input = form.elements.search;
  let timer = 0, request = null, shown = input.value.trim();
  const show = (url) => {
    if (request) request.abort();
    request = new XMLHttpRequest(); // parses HTML without running scripts
    request.responseType = "document";
    request.onload = () => {
      const found = request.response;
      const results = found && found.getElementById("results");
      if (!results) { location.assign(url); return; } // for example, if the credentials expired
      document.getElementById("results").replaceWith(document.adoptNode(results));
      document.getElementById("count").textContent = found.getElementById("count").textContent;
      document.title = found.title;
      history.replaceState(null, "", url);
    };
    request.open("GET", url);
    request.send();
  };
  input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      const search = input.value.trim();
      if (search === shown) return;
      shown = search;
      show(form.action + (search ? "?" + new URLSearchParams({ search }) : ""));
    }, pause);
  });
}

addCopyButtons();
searchWhileTyping();
