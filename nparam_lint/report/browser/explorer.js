// The pictures of one model, of two sides of a diff, or of several models; with what belongs to
// them: search, colours, order, sums, and a table of the modules.

const ROLES = ["embedding", "attention", "feed-forward", "recurrent", "convolution", "norm", "output"];
const HUES = 8;
const LISTED = 12; // sums that are listed at once
const HINT = "Click or Enter zooms in, Escape zooms out; arrow keys move.";

class Explorer {
  constructor(box, picture) {
    Object.assign(this, { box, picture, order: "model" });
    Object.assign(this, { fold: true, filter: null, found: [], isCommon: false, listed: LISTED });
    this.isDiff = picture.changes !== null;
    this.isMatched = true;
    this.by = this.isDiff ? "change" : firstGrouping(picture);
    const sides = picture.sides.map((side, number) => ({
      ...side,
      short: side.type,
      changes: this.isDiff ? changeTree(picture.changes, number) : null,
    }));
    this.panes = sides.map((side) => new Icicle(this, side));
    this.build();
    this.setHues();
    new ResizeObserver(() => this.resized()).observe(this.box);
  }

  // --- what it is made of --------------------------------------------------------------------------

  build() {
    this.told = make("p", { class: "told" });
    this.sums = make("div", { class: "sums" });
    const panes = this.panes.map((pane) => {
      pane.crumbs = make("nav", { class: "crumbs", "aria-label": "Where the picture is" });
      const title = this.panes.length > 1 ? make("h3", {}, pane.side.name) : "";
      return make("div", { class: "pane" }, title, pane.crumbs, pane.box);
    });
    this.table = this.panes.length === 1 ? new ModuleTable(this, this.panes[0]) : null;
    const drawn = make("div", {}, this.told, make("div", { class: "panes" }, ...panes));
    const isWide = this.panes.length > 2; // there is no room beside them
    const stage = make("div", { class: isWide ? "stage many" : "stage" }, drawn, this.sums);
    this.box.replaceChildren(this.toolbar(), stage, this.table ? this.table.box : "");
    this.box.classList.add("explorer");
  }

  toolbar() {
    this.search = make("input", {
      type: "search", placeholder: "name, type or line", "aria-label": "Search modules",
      oninput: () => this.setSearch(this.search.value),
      onkeydown: (event) => this.searchKey(event),
    });
    this.result = make("span", { class: "result", role: "status" });
    const bys = [...(this.isDiff ? ["change"] : []), ...(HAS_ROLES ? ["role"] : []), "type", "line"];
    const tools = [
      make("span", { class: "search" }, this.search, this.result),
      this.choice("colour and sum by", bys.map((name) => [name, name]), "by"),
      this.choice("order", Object.entries(ORDERS).map(([name, [label]]) => [name, label]), "order"),
    ];
    if (this.picture.sides.some((side) => REPEATS[side.root])) {
      tools.push(this.check("fold repeated modules", "fold"));
    }
    if (this.panes.length > 1 && !this.isDiff) tools.push(this.check("same scale", "isCommon"));
    return make("div", { class: "tools" }, ...tools);
  }

  choice(label, options, name) {
    const select = make("select", { onchange: () => this.set(name, select.value) },
      ...options.map(([value, text]) => make("option", { value }, text)));
    select.value = this[name];
    return make("label", {}, make("span", {}, label), select);
  }

  check(label, name) {
    const input = make("input", {
      type: "checkbox", onchange: () => this.set(name, input.checked),
    });
    input.checked = this[name];
    return make("label", { class: "check" }, input, make("span", {}, label));
  }

  set(name, value) {
    this[name] = value;
    if (name === "fold") this.panes.forEach((pane) => pane.reset());
    if (name === "by") this.setHues();
    if (name === "fold" || (name === "by" && this.filter?.key)) this.setFilter(null);
    if (name === "fold" && this.search.value) return this.setSearch(this.search.value);
    this.draw();
  }

  // --- drawing -------------------------------------------------------------------------------------

  resized() {
    if (this.width === this.box.clientWidth) return;
    this.width = this.box.clientWidth;
    this.draw();
  }

  /** Of a picture: what suits the window, and less where there is little to see. */
  get height() {
    const leaves = Math.max(...this.picture.sides.map((side) => LEAVES[side.root]));
    const room = Math.max(innerHeight * 0.62, 300);
    return Math.round(Math.min(room, this.width < 640 ? 440 : 660, 40 + 70 * leaves));
  }

  draw() {
    const values = this.panes.map((pane) => pane.focus.value);
    const largest = Math.max(...values, 1);
    this.panes.forEach((pane, i) => {
      const isCommon = this.isDiff ? this.isMatched : this.isCommon;
      pane.draw(this.height / (isCommon ? largest : values[i] || 1));
      this.drawCrumbs(pane);
    });
    this.drawSums();
    if (this.table) this.table.draw();
    this.tell(null);
  }

  drawCrumbs(pane) {
    const links = [];
    for (let item = pane.focus; item; item = item.parent) {
      const label = item.parent ? (item instanceof More ? item.label : item.shown) : pane.side.short;
      const isHere = item === pane.focus;
      links.unshift(make("button", {
        type: "button", "aria-current": isHere ? "true" : null, onclick: () => pane.zoom(item),
      }, label));
    }
    const value = make("span", { class: "number" }, this.amount(pane.focus));
    const parts = [...links.flatMap((link, i) => (i ? ["›", link] : [link])), value];
    replaceInFocus(pane.crumbs, parts);
  }

  /** The sides of a diff are zoomed together, and have one scale; for a module that the other side
   * lacks, this shows the nearest that it has, in its own scale. */
  zoom(pane, item) {
    pane.focus = item;
    if (this.isDiff) {
      const side = this.panes.indexOf(pane), other = this.panes[1 - side];
      const found = (at) => other.root.find(counterpart(this.picture.changes, at.path, side));
      let at = moduleOf(item);
      this.isMatched = found(at) !== null;
      while (!found(at)) at = at.parent;
      other.focus = found(at);
    }
    this.draw();
  }

  // --- colours -------------------------------------------------------------------------------------

  setHues() {
    this.hues = new Map();
    if (this.by === "change") return;
    const sums = this.sumsOf((pane) => pane.root);
    const keys = [...sums.keys()].filter((key) => !["other", "unknown"].includes(key));
    if (this.by === "role") keys.sort((a, b) => ROLES.indexOf(a) - ROLES.indexOf(b));
    for (const key of keys) {
      const number = this.by === "role" ? ROLES.indexOf(key) : this.hues.size;
      if (number >= 0 && number < HUES) this.hues.set(key, number);
    }
  }

  tone(item) {
    const key = item.key(this.by);
    return key === null ? "" : this.toneOf(key);
  }

  toneOf(key) {
    if (this.by === "change") return `kind-${key}`;
    return this.hues.has(key) ? `hue-${this.hues.get(key)}` : "hue-none";
  }

  mark(item) {
    if (!this.filter) return "";
    const { hits, holders } = this.filter;
    if (item instanceof Own) {
      const isHit = this.filter.key ? item.key(this.by) === this.filter.key : hits.has(item.module);
      return isHit ? "hit" : "dim";
    }
    const modules = item instanceof More ? item.parts.map(moduleOf) : [item];
    if (modules.some((module) => hits.has(module))) return "hit";
    if (modules.some((module) => holders.has(module))) return "holds";
    for (let above = modules[0].parent; above; above = above.parent) {
      if (!this.filter.key && hits.has(above)) return "";
    }
    return "dim";
  }

  // --- sums ----------------------------------------------------------------------------------------

  /** Key -> the sums of each pane, the largest first. */
  sumsOf(itemOf) {
    const found = new Map();
    this.panes.forEach((pane, i) => {
      for (const [key, sum] of sumsOf(itemOf(pane), this.by)) {
        if (!found.has(key)) found.set(key, []);
        found.get(key)[i] = sum;
      }
    });
    const size = (sums) => Math.max(...sums.map((sum) => (sum ? sum.value : 0)));
    return new Map([...found].sort((a, b) => size(b[1]) - size(a[1])));
  }

  drawSums() {
    const sums = [...this.sumsOf((pane) => pane.focus)];
    const names = this.panes.map((pane) => pane.side.name);
    const head = [this.by, ...(names.length > 1 ? names : ["parameters"])];
    const rows = sums.slice(0, this.listed).map(([key, found]) => this.sumRow(key, found));
    const left = sums.length - rows.length;
    const more = left > 0 && make("button", {
      type: "button", class: "link", onclick: () => { this.listed += 100; this.drawSums(); },
    }, `${count(left)} more`);
    const table = make("table", {},
      make("thead", {}, make("tr", {}, ...head.map((text, i) =>
        make("th", { scope: "col", class: i ? "number" : null }, text)))),
      make("tbody", {}, ...rows));
    replaceInFocus(this.sums, [table, more || ""]);
  }

  sumRow(key, found) {
    const button = make("button", {
      type: "button", class: "key", "aria-pressed": String(this.filter?.key === key),
      onclick: () => this.setKey(key),
    }, make("i", { class: `swatch ${this.toneOf(key)}` }), this.by === "change" && key === "same" ? "unchanged" : key);
    return make("tr", {}, make("th", { scope: "row" }, button),
      ...this.panes.map((pane, i) => {
        const value = found[i] ? found[i].value : 0;
        const isOnly = this.panes.length === 1 ? " only" : "";
        return make("td", { class: `number${isOnly}` }, value ? count(value) : "–", " ",
          make("small", {}, percent(value, pane.focus.value)));
      }));
  }

  // --- search --------------------------------------------------------------------------------------

  setSearch(text) {
    this.setFilter(text.trim() ? { test: matcher(text) } : null);
  }

  setKey(key) {
    const isSame = this.filter?.key === key;
    this.search.value = "";
    const test = (module) => module.own > 0 && module.ownKey(this.by) === key;
    this.setFilter(isSame ? null : { key, test });
  }

  setFilter(filter) {
    this.filter = filter;
    this.found = [];
    this.result.textContent = "";
    if (filter) {
      const each = this.panes.map((pane) => hitsIn(pane.root, filter.test));
      filter.hits = new Set(each.flatMap((one) => [...one.hits]));
      filter.holders = new Set(each.flatMap((one) => [...one.holders]));
      this.panes.forEach((pane, i) => this.found.push(...[...each[i].hits].map((hit) => [pane, hit])));
      if (!filter.key) this.result.textContent = this.resultWords(each);
    }
    this.next = 0;
    this.draw();
  }

  resultWords(each) {
    const number = this.found.reduce((sum, [, hit]) => sum + hit.times, 0);
    if (!number) return "nothing found";
    const values = each.map((one, i) =>
      `${count(one.value)}${one.value ? ` (${percent(one.value, this.panes[i].root.value)})` : ""}`);
    return `${plural(number, "module")}, ${values.join(" · ")}`;
  }

  searchKey(event) {
    if (event.key === "Escape" && this.search.value) {
      event.preventDefault();
      this.search.value = "";
      this.setFilter(null);
    } else if (event.key === "Enter" && this.found.length) {
      event.preventDefault();
      const [pane, hit] = this.found[this.next % this.found.length];
      this.next += 1;
      pane.zoom(hit.value ? hit : pane.root);
      this.tell(hit);
    }
  }

  // --- words ---------------------------------------------------------------------------------------

  amount(item) {
    const module = item instanceof Module ? item : null;
    if (module && module.times > 1) {
      return `${count(module.times)} × ${count(module.value / module.times)} = ${count(module.value)}`;
    }
    return count(item.value);
  }

  /** What is said of an item: to be read aloud, and above the picture. */
  words(item) {
    const pane = this.panes.find((one) => one.root === rootOf(item)) || this.panes[0];
    const parts = [nameOf(item) || pane.side.short, item.type];
    parts.push(`${this.amount(item)} parameters`, percent(item.value, pane.root.value));
    if (this.isDiff) parts.push(...changeWords(item));
    if (item instanceof Module) {
      const { k: tied, s: shared, f: frozen } = item.more;
      if (shared !== undefined) parts.push(`shared with ${shared || "(total)"}`);
      if (tied) parts.push(`tied: ${tied.join(", ")}`);
      if (frozen) parts.push(frozen === item.total ? "frozen" : `${count(frozen)} frozen`);
      parts.push(item.source);
    }
    return parts.filter(Boolean).join(" · ");
  }

  /** Says what is pointed at; null: how the picture is used. */
  tell(item) {
    this.told.textContent = item ? this.words(item) : HINT;
    this.told.classList.toggle("dim", !item);
  }
}

/** Replaces what is in a box; the button there that had the focus has it still. */
function replaceInFocus(box, parts) {
  const place = [...box.querySelectorAll("button")].indexOf(document.activeElement);
  box.replaceChildren(...parts);
  const buttons = box.querySelectorAll("button");
  if (place >= 0 && buttons.length) buttons[Math.min(place, buttons.length - 1)].focus();
}

/** Roles, unless most parameters have none. */
function firstGrouping(picture) {
  const roots = picture.sides.map((side) => new Module(side.root, "", null, 1, null, true));
  const others = roots.map((root) => sumsOf(root, "role").get("other")?.value || 0);
  return roots.some((root, i) => 2 * others[i] < root.value) ? "role" : "type";
}

function rootOf(item) {
  while (item.parent) item = item.parent;
  return item;
}

function nameOf(item) {
  if (item instanceof Own) return `${item.module.path || "(total)"}, held by itself`;
  if (!(item instanceof More)) return item.path;
  if (item.isRun) return `${item.parts[0].path} … ${item.parts[item.parts.length - 1].path}`;
  const names = item.parts.slice(0, 3).map((part) => part.label);
  return `${item.label}: ${names.join(", ")}${item.parts.length > 3 ? ", …" : ""}`;
}

function changeWords(item) {
  const words = ["same", "inside"].includes(item.status) ? [] : [item.status];
  if (item.delta) words.push(signed(item.delta));
  if (item.change?.notes) words.push(item.change.notes);
  return words;
}
