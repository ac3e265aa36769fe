// Optional enhancements: pages also work without this script.
"use strict";

// announce sends a message to screen readers.
function announce(text) {
  document.getElementById("said").textContent = text;
}

// addCopyButtons adds a button to each element with a data-copy attribute. Buttons for
// single values have an icon instead of a label.
function addCopyButtons() {
  for (const text of document.querySelectorAll("[data-copy]")) {
    const button = document.createElement("button");
    const name = text.dataset.copy, isValue = text.closest(".copied");
    button.type = "button";
    button.className = "copy";
    button.textContent = isValue ? "" : "Copy";
    button.setAttribute("aria-label", "Copy " + name);
    button.title = "Copy " + name;
    button.addEventListener("click", async () => {
      const copied = await copy(text.textContent);
      button.classList.toggle("done", copied);
      if (!isValue) button.textContent = copied ? "Copied" : "Failed";
      announce(copied ? "Copied " + name : "The browser does not allow copying " + name);
      setTimeout(() => {
        button.classList.remove("done");
        if (!isValue) button.textContent = "Copy";
      }, 2000);
    });
    text.after(button);
  }
}

// copy copies text to the clipboard. The clipboard API is available only to pages from
// HTTPS or localhost, so copy uses the copy command for other pages.
async function copy(text) {
  if (navigator.clipboard) {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch { /* use the command */ }
  }
  const put = (event) => {
    event.clipboardData.setData("text/plain", text);
    event.preventDefault();
  };
  document.addEventListener("copy", put);
  const copied = document.execCommand("copy");
  document.removeEventListener("copy", put);
  return copied;
}

// searchWhileTyping shows the search results while the user types, on pages with lists.
function searchWhileTyping() {
  const form = document.querySelector("form.search");
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
      document.title = found.title;
      history.replaceState(null, "", url);
      announce(document.getElementById("count").textContent);
    };
    request.open("GET", url);
    request.send();
  };
  if (!document.getElementById("results")) return;
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

// addKeys lets users search by keyboard: "/" moves the focus to the search field, and the
// arrow keys move it between the search field and the results.
function addKeys() {
  const input = document.querySelector("form.search input");
  const hint = document.createElement("kbd");
  hint.textContent = "/";
  hint.setAttribute("aria-hidden", "true");
  input.after(hint);
  document.addEventListener("keydown", (event) => {
    const at = document.activeElement;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "/" && !at.matches("input[type=search], textarea, select")) {
      input.focus();
      input.select();
      event.preventDefault();
    }
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const places = [input, ...document.querySelectorAll("#results tbody a")];
    const from = places.indexOf(at);
    if (!step || from < 0 || !places[from + step]) return;
    places[from + step].focus();
    event.preventDefault();
  });
}

addCopyButtons();
addKeys();
searchWhileTyping();
