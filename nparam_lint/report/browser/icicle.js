// One model as an icicle: a column for each level, a cell for each module, as high as it is large.

const SMALL = 14; // pixels below which a cell has no room for its name: neighbours are merged
const RUN = 20; // pixels that merged neighbours take together, where they can
const THIN = 3; // below which a lone cell is merged with the others of its module
const COLUMN = 116; // the least width of a column in which names are written as usual
const EDGE = 28; // the width of a column in which they stand upright
const UPRIGHT = 44; // the least height for a name that stands upright
const LETTER = 8; // the width of a letter, about
const DEEPEST = 16; // levels that are drawn at once

const ORDERS = {
  model: ["as in the model", null],
  size: ["largest first", (a, b) => b.value - a.value],
  name: ["by name", (a, b) => a.label.localeCompare(b.label, "en", { numeric: true })],
};

function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) {
      element.setAttribute(name, value);
    }
  }
  element.append(...children.filter((child) => child !== null && child !== ""));
  return element;
}

/** The parts of an item that are drawn: neighbours that are too small become one. */
function drawnParts(item, scale, order) {
  const compare = ORDERS[order][1];
  const all = compare ? [...item.parts].sort(compare) : item.parts;
  const drawn = [], rest = [];
  let run = [], height = 0;
  const flush = () => {
    const seen = run.filter((part) => part.value * scale >= 1);
    if (height < THIN) rest.push(...run);
    else if (seen.length === 1) {
      drawn.push(seen[0]);
      rest.push(...run.filter((part) => part !== seen[0]));
    } else drawn.push(new More(item, run, true));
    [run, height] = [[], 0];
  };
  for (const part of all) {
    const own = part.value * scale;
    if ((own >= SMALL || height >= RUN) && run.length) flush();
    if (own >= SMALL) drawn.push(part);
    else {
      run.push(part);
      height += own;
    }
  }
  if (run.length) flush();
  if (rest.length) {
    const left = rest.length > 1 ? new More(item, rest, false) : rest[0];
    if (left.value * scale >= 1) drawn.push(left);
  }
  return drawn;
}

/** Of each level of a drawing: how many cells have a name, how many of these no further cells; the
 * most parts of one, and the height of the lowest that has some. */
function levelsOf(root, scale) {
  const levels = [];
  const isNamed = (one) => one.data.item.value * scale >= SMALL;
  root.each((node) => {
    const level = (levels[node.depth] ||= { cells: 0, leaves: 0, parts: 0, lowest: Infinity });
    if (!isNamed(node)) return;
    const parts = (node.children || []).filter(isNamed).length;
    level.cells += 1;
    level.leaves += !parts;
    level.parts = Math.max(level.parts, parts);
    if (parts) level.lowest = Math.min(level.lowest, node.data.item.value * scale);
  });
  return levels;
}

/** Of each level the least width of its column: names stand upright where there is one, or where each
 * module has one part, so that the next level says more; and from the left, where they can, until all
 * levels fit. What has no parts goes on to the right edge, so there a wide column must follow. */
function widthsOf(levels, width) {
  const widths = levels.map(() => COLUMN);
  const isFree = (i) => !levels[i].leaves || widths.includes(COLUMN, i + 1);
  for (let i = levels.length - 1; i >= 0; i -= 1) {
    const { cells, parts, lowest } = levels[i];
    const isChain = parts === 1 && lowest >= UPRIGHT;
    if ((cells <= 1 || isChain) && isFree(i)) widths[i] = EDGE;
  }
  const isTooWide = () => widths.reduce((sum, one) => sum + one, 0) > width;
  levels.forEach(({ lowest }, i) => {
    if (isTooWide() && lowest >= UPRIGHT && isFree(i)) widths[i] = EDGE;
  });
  return widths;
}

/** The left edges of the columns that fit into `width`, and the right edge of the last. */
function columnsOf(least, width) {
  let [fit, sum] = [1, least[0]];
  while (fit < least.length && (sum + least[fit] <= width || !least.slice(0, fit).includes(COLUMN))) {
    sum += least[fit];
    fit += 1;
  }
  const wide = least.slice(0, fit).filter((one) => one === COLUMN).length;
  const lefts = [0];
  for (const one of least.slice(0, fit)) {
    const spare = one === COLUMN ? (width - sum) / wide : 0;
    lefts.push(lefts[lefts.length - 1] + one + spare);
  }
  lefts[fit] = width;
  return lefts;
}

/** The cells of a focus in `width` pixels: [{item, left, top, width, height, level, isCut}]. */
function cellsOf(focus, width, scale, order) {
  const isOpen = (item, level) => level === 0 || (level < DEEPEST && !(item instanceof More));
  const root = d3.hierarchy({ item: focus, level: 0 }, ({ item, level }) =>
    isOpen(item, level)
      ? drawnParts(item, scale, order).map((part) => ({ item: part, level: level + 1 }))
      : null);
  const lefts = columnsOf(widthsOf(levelsOf(root, scale), width), width), last = lefts.length - 2;
  for (const node of root.descendants()) {
    node.value = node.data.item.value;
    if (node.depth === last) node.children = undefined;
  }
  d3.partition().size([root.value * scale, 1])(root);
  return root.descendants().map((node) => ({
    item: node.data.item,
    above: node.parent && node.parent.data.item,
    left: lefts[node.depth],
    top: node.x0,
    width: (node.children ? lefts[node.depth + 1] : width) - lefts[node.depth],
    height: node.x1 - node.x0,
    level: node.depth,
    isCut: !node.children && node.data.item instanceof Module && node.data.item.levels > 0,
  }));
}

/** Draws a model, and says what is pointed at. `owner`: the explorer that it belongs to. */
class Icicle {
  constructor(owner, side) {
    Object.assign(this, { owner, side, cells: new Map() });
    this.box = make("div", {
      class: "icicle", role: "tree", "aria-label": `Modules of ${side.name}`,
      onkeydown: (event) => this.key(event),
      onclick: (event) => this.click(event.target.closest(".cell")),
      onpointerover: (event) => this.point(event.target.closest(".cell")),
      onpointerleave: () => owner.tell(null),
      onfocusin: (event) => this.point(event.target),
    });
    this.reset();
  }

  /** Begins at the whole model, folded as is asked for; stays where it was as far as it can. */
  reset() {
    const { root, changes } = this.side;
    const path = this.focus ? moduleOf(this.focus).path : "";
    this.root = new Module(root, "", null, 1, changes, this.owner.fold);
    this.focus = this.root.find(path) || this.root;
  }

  draw(scale) {
    const [width, by] = [this.box.clientWidth, this.owner.by];
    if (!width) return;
    this.shown = cellsOf(this.focus, width, scale, this.owner.order);
    const old = this.cells;
    this.cells = new Map();
    for (const cell of this.shown) {
      const key = `${cell.item.path}|${cell.item instanceof More}`;
      cell.element = old.get(key) || make("div", { role: "treeitem", tabindex: -1 });
      old.delete(key);
      this.cells.set(key, cell.element);
      this.fill(cell, by);
      if (!cell.element.parentNode) this.box.append(cell.element);
    }
    old.forEach((element) => element.remove());
    this.box.style.height = `${Math.max(40, this.owner.height)}px`;
    this.at = this.shown.find((cell) => cell.item === this.at?.item) || this.shown[0];
    this.at.element.tabIndex = 0;
  }

  fill(cell, by) {
    const { element, item, level, height, width } = cell;
    const classes = ["cell", this.owner.tone(item), this.owner.mark(item)];
    const isUpright = width <= EDGE && item.parts.length > 0;
    if (level === 0) classes.push("edge");
    if (isUpright) classes.push("upright");
    if (item.parts.length) classes.push("holder");
    if (item instanceof More) classes.push("more");
    if (cell.isCut) classes.push("cut");
    if (height >= 34) classes.push("tall");
    element.className = classes.filter(Boolean).join(" ");
    const place = { left: cell.left, top: cell.top, width: width - 1, height: height - (height > 4) };
    for (const [name, value] of Object.entries(place)) {
      element.style[name] = `${Math.max(value, 1).toFixed(1)}px`;
    }
    element.tabIndex = -1;
    element.setAttribute("aria-level", level + 1);
    element.setAttribute("aria-label", this.owner.words(item));
    if (item.parts.length) element.setAttribute("aria-expanded", level === 0 || !cell.isCut);
    const name = level || this.focus !== this.root ? item.label : this.side.short;
    const [length, across] = isUpright ? [height, width] : [width, height];
    const hasRoom = across >= SMALL - 1 && length >= UPRIGHT - 12;
    element.replaceChildren(...(hasRoom ? this.texts(item, name, length) : []));
  }

  /** As much as there is room for: the name, the number, the type. */
  texts(item, name, length) {
    const texts = [make("b", {}, name || "(total)")], number = count(item.value);
    const room = length / LETTER - 3 - name.length - number.length;
    if (item.type && item.type !== name && room > 1 + Math.min(item.type.length, 14)) {
      texts.push(make("span", { class: "type" }, item.type));
    }
    if (room > 0) texts.push(make("span", { class: "number" }, number));
    return texts;
  }

  cellAt(element) {
    return element && this.shown.find((cell) => cell.element === element);
  }

  point(element) {
    const cell = this.cellAt(element);
    if (cell) this.owner.tell(cell.item);
  }

  click(element) {
    const cell = this.cellAt(element);
    if (!cell) return;
    this.select(cell);
    this.zoom(cell.level === 0 ? this.focus.parent : cell.item);
  }

  /** A leaf has nothing to zoom into: what holds it is shown. */
  zoom(item) {
    if (!item) return;
    const target = item.parts.length || !item.parent ? item : item.parent;
    const isInFocus = document.activeElement === this.at?.element;
    if (target !== this.focus) this.owner.zoom(this, target);
    this.select(this.shown.find((cell) => cell.item === item) || this.shown[0], isInFocus);
  }

  select(cell, isInFocus = true) {
    if (this.at?.element) this.at.element.tabIndex = -1;
    this.at = cell;
    cell.element.tabIndex = 0;
    if (isInFocus) cell.element.focus({ preventScroll: true });
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { at, shown } = this;
    const beside = shown.filter((cell) => cell.above === at.above && cell.level === at.level);
    const place = beside.indexOf(at);
    const next = {
      ArrowDown: () => beside[place + 1],
      ArrowUp: () => beside[place - 1],
      ArrowRight: () => shown.find((cell) => cell.above === at.item),
      ArrowLeft: () => shown.find((cell) => cell.item === at.above),
      Home: () => beside[0],
      End: () => beside[beside.length - 1],
    }[event.key];
    const act = {
      Enter: () => this.zoom(at.level ? at.item : this.focus.parent),
      " ": () => this.zoom(at.level ? at.item : this.focus.parent),
      Escape: () => this.zoom(this.focus.parent),
      Backspace: () => this.zoom(this.focus.parent),
    }[event.key];
    if (!next && !act) return;
    event.preventDefault();
    const cell = next && next();
    if (cell) this.select(cell);
    else if (next && event.key === "ArrowRight" && at.isCut) this.zoom(at.item);
    else if (next && event.key === "ArrowLeft" && at.level === 0) this.zoom(this.focus.parent);
    if (act) act();
  }
}

/** The module that an item is, or that holds it. */
function moduleOf(item) {
  while (!(item instanceof Module)) item = item.parent;
  return item;
}
