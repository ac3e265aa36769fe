// Dark mode, copy buttons, tabs, search, and the version switch. Without this script, all pages remain readable.
const root = document.documentElement;
const base = document.body.dataset.base;

// The browser's theme applies until the reader selects a theme.
const stored = localStorage.getItem("theme");
if (stored) root.dataset.theme = stored;
const theme = document.querySelector("header .theme");
const dark = () => (root.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
const label = () => {
	theme.ariaLabel = dark() ? "Light mode" : "Dark mode";
	theme.title = theme.ariaLabel;
	theme.textContent = dark() ? "☀" : "☾";
};
theme.hidden = false;
label();
theme.onclick = () => {
	root.dataset.theme = dark() ? "light" : "dark";
	localStorage.setItem("theme", root.dataset.theme);
	label();
};

// On a phone, the list of pages is closed when a page opens.
if (matchMedia("(max-width: 50rem)").matches) document.querySelector(".pages details")?.removeAttribute("open");
document.querySelector(".pages [aria-current]")?.scrollIntoView({ block: "nearest" });

for (const pre of document.querySelectorAll("main pre")) {
	pre.tabIndex = 0; // keyboard users can scroll wide code
	const box = document.createElement("div");
	box.className = "code";
	pre.replaceWith(box);
	const button = document.createElement("button");
	button.type = "button";
	button.className = "copy";
	button.textContent = "Copy";
	button.onclick = async () => {
		await navigator.clipboard.writeText(pre.textContent.trimEnd());
		button.textContent = "Copied";
		setTimeout(() => { button.textContent = "Copy"; }, 2000);
	};
	box.append(pre, button);
}

// The sections between <!-- tabs --> and <!-- /tabs --> become tabs. Each section starts with a heading.
for (const group of document.querySelectorAll(".tabbed")) {
	group.classList.add("tabs");
	const list = document.createElement("div");
	list.setAttribute("role", "tablist");
	list.setAttribute("aria-label", "Systems");
	const panels = [];
	const level = group.firstElementChild.nodeName;
	for (const node of [...group.children]) {
		if (node.nodeName === level) {
			const tab = document.createElement("button");
			tab.type = "button";
			tab.textContent = node.firstChild.textContent.trim();
			tab.setAttribute("role", "tab");
			tab.id = `tab-${node.id}`;
			const panel = document.createElement("div");
			panel.setAttribute("role", "tabpanel");
			panel.setAttribute("aria-labelledby", tab.id);
			panel.id = node.id; // links to the heading select the tab
			tab.setAttribute("aria-controls", panel.id);
			panels.push(panel);
			list.append(tab);
			group.append(panel);
			node.remove();
		} else panels.at(-1).append(node);
	}
	group.prepend(list);
	const tabs = [...list.children];
	const select = (selected) => panels.forEach((panel, i) => {
		panel.hidden = i !== selected;
		tabs[i].setAttribute("aria-selected", String(i === selected));
		tabs[i].tabIndex = i === selected ? 0 : -1;
	});
	const follow = () => {
		const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
		const found = panels.findIndex((panel) => target && panel.contains(target));
		if (found >= 0) { select(found); target.scrollIntoView(); }
	};
	tabs.forEach((tab, i) => {
		tab.onclick = () => select(i);
		tab.onkeydown = (event) => {
			const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
			if (!step) return;
			const next = (i + step + tabs.length) % tabs.length;
			select(next);
			tabs[next].focus();
		};
	});
	select(0);
	follow();
	addEventListener("hashchange", follow);
}

// The section list highlights the section that is on the screen.
const sections = new Map([...document.querySelectorAll("aside a")].map((link) => [document.getElementById(decodeURIComponent(link.hash.slice(1))), link]));
sections.delete(null);
const mark = () => {
	const passed = [...sections.keys()].filter((section) => section.getClientRects().length && section.getBoundingClientRect().top < 120);
	for (const link of sections.values()) link.removeAttribute("aria-current");
	sections.get(passed.at(-1))?.setAttribute("aria-current", "true");
};
if (sections.size) {
	addEventListener("scroll", mark, { passive: true });
	mark();
}

// Pagefind's index is loaded when the reader opens the search.
const dialog = document.querySelector(".find");
const input = dialog.querySelector("input");
const status = dialog.querySelector("[role=status]");
const results = dialog.querySelector("ol");
const opener = document.querySelector("header .search");
let pagefind;
const open = () => {
	dialog.showModal();
	input.select();
	pagefind ??= import(`${base}pagefind/pagefind.js`);
};
opener.hidden = false;
opener.onclick = open;
addEventListener("keydown", (event) => {
	if (event.key !== "/" || dialog.open || event.target.closest?.("input, select, textarea")) return;
	event.preventDefault();
	open();
});
input.oninput = async () => {
	const query = input.value.trim();
	const search = await (await pagefind).debouncedSearch(query, {}, 150);
	if (!search) return; // the reader has typed more
	const pages = await Promise.all(search.results.slice(0, 8).map((result) => result.data()));
	results.replaceChildren(...pages.flatMap((page) => page.sub_results.slice(0, 2).map((part) => {
		const item = document.createElement("li");
		const link = document.createElement("a");
		link.href = part.url;
		const title = document.createElement("strong");
		title.textContent = part.title === page.meta.title ? part.title : `${page.meta.title} › ${part.title}`;
		const excerpt = document.createElement("span");
		excerpt.innerHTML = part.excerpt; // pagefind escapes the text and marks the words
		link.append(title, excerpt);
		link.onclick = () => dialog.close();
		item.append(link);
		return item;
	})));
	status.textContent = query ? `${search.results.length} ${search.results.length === 1 ? "page" : "pages"} found` : "";
};

// versions.json lists all published versions. The first one is also published at the root. A local build has no root.
const published = document.body.dataset.root;
if (published) {
	const all = await fetch(`${published}versions.json`).then((response) => response.ok ? response.json() : []).catch(() => []);
	const versions = document.querySelector("header .versions");
	const choice = versions.querySelector("select");
	for (const name of all) choice.add(new Option(name, name, false, name === document.body.dataset.version));
	choice.onchange = async () => {
		const home = `${published}${choice.value}/`;
		const same = home + location.pathname.slice(base.length);
		const exists = await fetch(same, { method: "HEAD" }).then((response) => response.ok).catch(() => false);
		location = exists ? same : home;
	};
	versions.hidden = all.length < 2;
}
