// The modules of a model as a table that unfolds: rows are made when they are shown.

const FIRST = 30; // rows up to which the heaviest modules are unfolded
const PAGE = 200; // rows that are shown at once

class ModuleTable {
  constructor(owner, pane) {
    Object.assign(this, { owner, pane, rows: PAGE });
    this.body = make("tbody", { onkeydown: (event) => this.key(event) });
    const names = ["module", "own", "total", "share", "made at"];
    this.box = make("div", { class: "modules" },
      make("table", { role: "treegrid", "aria-label": `Modules of ${pane.side.name}` },
        make("thead", {}, make("tr", {}, ...names.map((name) =>
          make("th", { scope: "col", class: name.replace(" ", "-") }, name)))),
        this.body),
      (this.more = make("p", { class: "note" })));
    this.open = new Set();
  }

  /** The focus of the picture is the first row; on a new one, the heaviest modules are unfolded. */
  draw() {
    if (this.focus !== this.pane.focus) {
      this.focus = this.pane.focus;
      this.rows = PAGE;
      this.unfold();
    }
    const rows = [...this.visible(this.focus, 0)];
    this.shown = rows.slice(0, this.rows);
    const at = this.shown.find(([item]) => item === this.at) || this.shown[0];
    this.at = at && at[0];
    this.elements = this.shown.map(([item, level]) => this.row(item, level));
    this.body.replaceChildren(...this.elements);
    this.drawNote(rows.length - this.shown.length);
  }

  drawNote(left) {
    const empty = this.focus.parts.length ? emptyIn(this.focus) : 0;
    this.more.replaceChildren(
      ...(left > 0 ? [make("button", { type: "button", class: "link", onclick: () => {
        this.rows += PAGE;
        this.draw();
      } }, `${plural(left, "more row")}`), " "] : []),
      empty ? `${plural(empty, "module")} without parameters ${empty === 1 ? "is" : "are"} left out` : "");
  }

  unfold() {
    this.open = new Set([this.focus]);
    let number = 1 + this.below(this.focus).length;
    for (;;) {
      const closed = [...this.visible(this.focus, 0)].map(([item]) => item)
        .filter((item) => !this.open.has(item) && this.below(item).length);
      const heaviest = closed.sort((a, b) => b.value - a.value)[0];
      if (!heaviest || (number += this.below(heaviest).length) > FIRST) return;
      this.open.add(heaviest);
    }
  }

  /** The rows below one: also modules whose parameters are all counted elsewhere. */
  below(item) {
    const compare = ORDERS[this.owner.order][1];
    const all = item instanceof More ? item.parts : item.children.filter((child) => child.total);
    return item.more?.s === undefined ? (compare ? [...all].sort(compare) : all) : [];
  }

  *visible(item, level) {
    yield [item, level];
    if (this.open.has(item)) {
      for (const child of this.below(item)) if (child instanceof Module) yield* this.visible(child, level + 1);
    }
  }

  row(item, level) {
    const [root, holds] = [this.pane.root, this.below(item).length > 0];
    const isOpen = this.open.has(item);
    const chips = item instanceof Module ? chipsOf(item) : [];
    const name = level ? item.label : nameOf(item) || "(total)";
    const twist = make("span", { class: "twist", "aria-hidden": "true" }, holds ? (isOpen ? "▾" : "▸") : "");
    const hue = this.owner.tone(item);
    return make("tr", {
      role: "row", "aria-level": level + 1, "aria-expanded": holds ? String(isOpen) : null,
      tabindex: item === this.at ? 0 : -1, class: this.owner.mark(item) || null,
      onclick: (event) => this.click(item, event.target.closest(".twist")),
      onpointerenter: () => this.owner.tell(item), onfocus: () => this.owner.tell(item),
    },
      make("th", { scope: "row", style: `--level:${level}` }, twist,
        make("code", {}, name), " ", make("span", { class: "type" }, item.type),
        ...chips.flatMap((chip) => [" ", make("span", { class: "chip" }, chip)])),
      make("td", { class: "own" }, item.own ? count(item.own) : ""),
      make("td", { class: "total" }, totalOf(item)),
      make("td", { class: "share" }, ...shareOf(item.value, root.value, hue)),
      make("td", { class: "made-at" }, item.source || ""));
  }

  click(item, isTwist) {
    this.at = item;
    if (!isTwist && item.parts.length) this.pane.zoom(item === this.focus ? item.parent : item);
    else this.toggle(item);
    this.toRow();
  }

  toggle(item, isOpen = !this.open.has(item)) {
    if (isOpen) this.open.add(item);
    else this.open.delete(item);
    this.draw();
  }

  toRow() {
    const place = this.shown.findIndex(([item]) => item === this.at);
    if (place >= 0) this.elements[place].focus({ preventScroll: true });
  }

  key(event) {
    const place = this.shown.findIndex(([item]) => item === this.at);
    if (place < 0 || event.ctrlKey || event.metaKey || event.altKey) return;
    const to = (next) => { if (this.shown[next]) this.at = this.shown[next][0]; };
    const acts = {
      ArrowDown: () => to(place + 1),
      ArrowUp: () => to(place - 1),
      Home: () => to(0),
      End: () => to(this.shown.length - 1),
      ArrowRight: () => (this.open.has(this.at) ? to(place + 1) : this.toggle(this.at, true)),
      ArrowLeft: () => (this.open.has(this.at) ? this.toggle(this.at, false) : to(this.above(place))),
      Enter: () => this.click(this.at, false),
      Escape: () => this.pane.zoom(this.focus.parent),
    };
    if (!acts[event.key]) return;
    event.preventDefault();
    acts[event.key]();
    this.elements.forEach((row, i) => (row.tabIndex = this.shown[i][0] === this.at ? 0 : -1));
    this.toRow();
  }

  above(place) {
    for (let i = place; i > 0; i -= 1) if (this.shown[i][1] < this.shown[place][1]) return i;
    return 0;
  }
}

/** What is counted elsewhere stands in brackets, so that the rest adds up. */
function totalOf(item) {
  if (!(item instanceof Module)) return count(item.value);
  const fresh = VALUES[item.id], elsewhere = item.total - fresh;
  const times = item.times > 1 ? `${count(item.times)} × ` : "";
  if (!elsewhere) return times + count(fresh);
  return times + (fresh ? `${count(fresh)} (+${count(elsewhere)})` : `(${count(elsewhere)})`);
}

function shareOf(part, whole, hue) {
  if (!part) return [];
  const bar = make("i", { class: hue || "hue-none", style: `width:${(100 * part) / whole}%` });
  return [make("span", { class: "bar" }, bar), make("span", { class: "percent" }, percent(part, whole))];
}

function* chipsOf(module) {
  const { k: tied, s: shared, f: frozen } = module.more;
  if (shared !== undefined) yield `shared with ${shared || "(total)"}`;
  else if (tied) yield module.times > 1 ? "tied" : `tied: ${tied.join(", ")}`;
  if (frozen && frozen === module.total) yield "frozen";
  else if (frozen) yield "part frozen";
}

/** How many modules below an item hold no parameter, nor does anything in them. */
function emptyIn(item) {
  if (item instanceof More) return item.parts.reduce((sum, part) => sum + emptyIn(part), 0);
  if (!(item instanceof Module)) return 0;
  const own = new Map();
  const visit = (id) => {
    if (!own.has(id)) {
      const { s: shared, t: total } = NODES[id][5] || {};
      let sum = (total ?? VALUES[id]) ? 0 : 1;
      if (shared === undefined) for (const [, child, times] of runsOf(id)) sum += times * visit(child);
      own.set(id, sum);
    }
    return own.get(id);
  };
  return visit(item.id);
}
