// What the page does when it is there: pictures are made when they come into view, and many models
// can be filtered and sorted.

const waiting = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) {
    if (!isIntersecting) continue;
    waiting.unobserve(target);
    new Explorer(target, DATA.pictures[target.dataset.picture]);
  }
}, { rootMargin: "400px" });

function openTarget() {
  const card = location.hash && document.getElementById(location.hash.slice(1));
  if (card instanceof HTMLDetailsElement) card.open = true;
}

const CARD_ORDERS = {
  report: ["as in the report", (card) => Number(card.dataset.number)],
  size: ["largest first", (card) => -Number(card.dataset.count || -1)],
  name: ["by name", (card) => card.querySelector(".title b").textContent.toLowerCase()],
};

/** A search and an order above the models, where there are many. */
function listTools(list) {
  const cards = [...list.querySelectorAll(":scope > .card")];
  if (cards.length < 2) return;
  cards.forEach((card, number) => (card.dataset.number = number));
  const result = make("span", { class: "result", role: "status" });
  const search = make("input", {
    type: "search", placeholder: "model or file", "aria-label": "Search models",
    oninput: () => {
      const sought = search.value.trim().toLowerCase();
      for (const card of cards) {
        card.hidden = !card.querySelector("summary").textContent.toLowerCase().includes(sought);
      }
      const shown = cards.filter((card) => !card.hidden).length;
      result.textContent = sought ? plural(shown, "model") : "";
    },
  });
  const order = make("select", { onchange: () => {
    const key = CARD_ORDERS[order.value][1];
    const isLess = (a, b) => (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : 0);
    list.append(...[...cards].sort(isLess));
  } }, ...Object.entries(CARD_ORDERS).map(([value, [label]]) => make("option", { value }, label)));
  const tools = make("div", { class: "tools" },
    make("span", { class: "search" }, search, result),
    make("label", {}, make("span", {}, "order"), order));
  list.before(tools);
}

/** Long names break where a reader would break them, and numbers nowhere. */
function makeBreakable(element) {
  const pieces = element.textContent.split(/(?<=[._/(,:])(?=\w)(?<!\d[.,](?=\d))/);
  if (pieces.length < 2 || element.children.length) return;
  element.replaceChildren(...pieces.flatMap((piece, i) => (i ? [make("wbr"), piece] : [piece])));
}

document.querySelectorAll("h1, code, .title b, .place").forEach(makeBreakable);
document.querySelectorAll(".cards").forEach(listTools);
document.querySelectorAll(".picture").forEach((box) => waiting.observe(box));
addEventListener("hashchange", openTarget);
openTarget();
// "/" leads to the nearest search, as on many pages.
addEventListener("keydown", (event) => {
  const isTyping = /^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement?.tagName);
  if (event.key !== "/" || isTyping || event.ctrlKey || event.metaKey) return;
  const own = document.activeElement?.closest(".explorer, .card")?.querySelector("input[type=search]");
  const search = own || document.querySelector("input[type=search]");
  if (search) {
    event.preventDefault();
    search.focus();
  }
});
