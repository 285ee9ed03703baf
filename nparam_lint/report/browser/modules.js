// The models of the page: decoded from its data on demand, and what they sum up to.
//
// A node of the data is one distinct module with all that is below it:
// [type, own, source, role, [name, node, times, …], {t: total, f: frozen, …}], its children before
// it. `times`: so many neighbours with following numbers are equal.

const DATA = JSON.parse(document.getElementById("data").textContent);
const TEXTS = DATA.strings;
const NODES = DATA.nodes;

const count = (number) => number.toLocaleString("en-US");
const signed = (number) => (number < 0 ? "−" : "+") + count(Math.abs(number));
const plural = (number, noun) => `${count(number)} ${noun}${number === 1 ? "" : "s"}`;

function percent(part, whole) {
  if (!part || !whole) return "";
  const share = (100 * part) / whole;
  return share < 0.05 ? "<0.1 %" : `${share.toFixed(1)} %`;
}

function* runsOf(id) {
  const flat = NODES[id][4];
  for (let i = 0; i < flat.length; i += 3) yield [flat[i], flat[i + 1], flat[i + 2]];
}

// Of each node: the parameters that no module before it holds, the levels below it that hold
// parameters, the leaves that a picture has if equal neighbours are folded, and whether some are.
const VALUES = [], DEPTHS = [], LEAVES = [], REPEATS = [];
NODES.forEach((node, id) => {
  let value = node[1], depth = 0, leaves = 0, repeats = false;
  for (const [, child, times] of runsOf(id)) {
    if (!VALUES[child]) continue;
    value += times * VALUES[child];
    depth = Math.max(depth, DEPTHS[child] + 1);
    leaves += LEAVES[child];
    repeats ||= times > 1 || REPEATS[child];
  }
  VALUES.push(value);
  DEPTHS.push(depth);
  LEAVES.push(leaves || 1);
  REPEATS.push(repeats);
});

// What parameters are grouped by. `key` is that of what a module holds itself.
const GROUPINGS = {
  role: { label: "role", key: (id) => (NODES[id][3] === null ? "other" : TEXTS[NODES[id][3]]) },
  type: { label: "type", key: (id) => TEXTS[NODES[id][0]] },
  line: { label: "line", key: (id) => (NODES[id][2] === null ? "unknown" : TEXTS[NODES[id][2]]) },
};
const HAS_ROLES = NODES.some((node) => node[3] !== null);

const uniform = { role: [], type: [], line: [] };
/** The one key of all parameters at or below a node; null where there are several. */
function onlyKey(by, id) {
  if (uniform[by][id] !== undefined) return uniform[by][id];
  const keys = new Set(NODES[id][1] ? [GROUPINGS[by].key(id)] : []);
  for (const [, child] of runsOf(id)) if (VALUES[child]) keys.add(onlyKey(by, child));
  return (uniform[by][id] = keys.size === 1 ? [...keys][0] : null);
}

/** A module, or `repeat` equal neighbours of which it is the first. `times`: how often it is in the
 * model. `change`: of a diff, what is known of this place; `kind`: what became of the module. */
class Module {
  constructor(id, name, parent, repeat, change, fold) {
    Object.assign(this, { id, name, parent, repeat, change, fold });
    this.times = (parent ? parent.times : 1) * repeat;
    this.value = VALUES[id] * this.times;
    this.shown = repeat > 1 ? `${name}…${Number(name) + repeat - 1}` : String(name);
    this.path = parent && parent.path ? `${parent.path}.${this.shown}` : this.shown;
    const above = parent && parent.kind;
    this.kind = (change && change.kind) || (above === "changed" ? null : above) || null;
  }

  get node() { return NODES[this.id]; }
  get type() { return TEXTS[this.node[0]]; }
  get own() { return this.node[1]; }
  get source() { return this.node[2] === null ? "" : TEXTS[this.node[2]]; }
  get more() { return this.node[5] || {}; }
  get total() { return this.more.t ?? VALUES[this.id]; }
  get delta() { return this.change ? this.change.sum * this.times : 0; }
  get levels() { return DEPTHS[this.id]; }
  /** A number says nothing alone: the names before it stand with it. */
  get label() {
    const names = [this.shown];
    let module = this;
    for (; typeof module.name === "number" && module.parent?.parent; module = module.parent) {
      names.unshift(module.parent.shown);
    }
    return names.join(".");
  }

  /** Of a diff: `same`; `inside` where only something below it changed. */
  get status() {
    const isInside = this.change && this.change.children.size > 0;
    return isInside && (!this.kind || this.kind === "changed") ? "inside" : this.kind || "same";
  }

  get children() {
    if (!this.made) this.made = [...this.makeChildren()];
    return this.made;
  }

  *makeChildren() {
    const changes = this.change ? this.change.children : new Map();
    for (const [name, id, times] of runsOf(this.id)) {
      const at = (i) => changes.get(times > 1 ? String(name + i) : String(name));
      for (let i = 0; i < times; ) {
        let end = i + 1;
        if (this.fold) while (end < times && alike(at(i), at(end))) end += 1;
        yield new Module(id, times > 1 ? name + i : name, this, end - i, at(i), this.fold);
        i = end;
      }
    }
  }

  /** What a picture divides it into: children with parameters, and what it holds itself. */
  get parts() {
    const inner = this.children.filter((child) => child.value);
    return inner.length && this.own ? [...inner, new Own(this)] : inner;
  }

  key(by) { return by === "change" ? this.status : onlyKey(by, this.id); }
  ownKey(by) {
    return by === "change" ? (this.kind || "same") : GROUPINGS[by].key(this.id);
  }

  /** The module of a path below it, folded or not; null where there is none. */
  find(path) {
    if (path === "") return this;
    for (const child of this.children) {
      const rest = child.reached(path);
      if (rest !== null) return child.find(rest);
    }
    return null;
  }

  /** What is left of a path that leads through it. */
  reached(path) {
    const [first, ...rest] = path.split(".");
    const number = parseInt(first, 10);
    const isNumber = typeof this.name === "number" && String(number) === first.split("…")[0];
    if (isNumber && this.name <= number && number < this.name + this.repeat) return rest.join(".");
    const name = this.shown; // which may have dots, where a module between is unknown
    return path === name ? "" : path.startsWith(`${name}.`) ? path.slice(name.length + 1) : null;
  }

  *walk() {
    yield this;
    for (const child of this.children) yield* child.walk();
  }
}

/** What a module with parts holds itself. */
class Own {
  constructor(module) {
    Object.assign(this, { module, parent: module, parts: [], levels: 0, label: "own" });
    this.type = module.type;
    this.value = module.own * module.times;
    this.path = `${module.path}:own`;
    this.delta = module.kind === "changed" ? module.change.own * module.times : 0;
  }
  get status() { return this.module.kind || "same"; }
  key(by) { return this.module.ownKey(by); }
}

/** Modules that are too small to be drawn each; `isRun`: they are neighbours. */
class More {
  constructor(parent, parts, isRun) {
    Object.assign(this, { parent, parts, isRun });
    this.value = parts.reduce((sum, part) => sum + part.value, 0);
    this.delta = parts.reduce((sum, part) => sum + part.delta, 0);
    this.levels = Math.max(...parts.map((part) => part.levels)) + 1;
    this.modules = parts.reduce((sum, part) => sum + (part.repeat || 1), 0);
    this.path = `${parts[0].path}+${parts.length}`;
    this.type = this.isRun ? plural(this.modules, "module") : "";
  }
  get label() {
    if (!this.isRun) return `${count(this.modules)} more`;
    const [first, last] = [this.parts[0], this.parts[this.parts.length - 1]];
    return `${first.label} … ${last.shown || last.label}`;
  }
  get status() {
    const found = new Set(this.parts.map((part) => part.status));
    return found.size === 1 ? [...found][0] : "inside";
  }
  key(by) {
    const keys = new Set(this.parts.map((part) => part.key(by)));
    return keys.size === 1 ? [...keys][0] : null;
  }
}

// --- what changed ---------------------------------------------------------------------------------

/** The changes of one side as a tree of names. `sum`: of what changed at or below a place. */
function changeTree(changes, side) {
  const root = place();
  for (const [kind, before, after, delta, notes] of changes) {
    const path = side ? after : before;
    if (path === null) continue;
    let at = root;
    at.sum += delta;
    for (const name of path ? path.split(".") : []) {
      if (!at.children.has(name)) at.children.set(name, place());
      at = at.children.get(name);
      at.sum += delta;
    }
    Object.assign(at, { kind, own: delta, notes });
  }
  return root;
}

const place = () => ({ kind: null, own: 0, sum: 0, notes: "", children: new Map() });

function alike(one, other) {
  return signature(one) === signature(other);
}

function signature(at) {
  if (!at) return "";
  if (!at.signature) {
    const inner = [...at.children].map(([name, child]) => `${name}(${signature(child)})`);
    at.signature = `${at.kind} ${at.own} ${inner}`;
  }
  return at.signature;
}

/** Where the module of one side is on the other. */
function counterpart(changes, path, side) {
  let best = ["", ""];
  for (const [, before, after] of changes) {
    const [here, there] = side ? [after, before] : [before, after];
    const isAbove = here === path || (here && path.startsWith(`${here}.`));
    if (isAbove && there !== null && here.length > best[0].length) best = [here, there];
  }
  return best[1] + path.slice(best[0].length);
}

// --- sums and search ------------------------------------------------------------------------------

/** Key -> {value, modules} of the parameters at or below an item. */
function sumsOf(item, by) {
  const sums = new Map();
  const add = (key, value, modules) => {
    const sum = sums.get(key) || { value: 0, modules: 0 };
    sum.value += value;
    sum.modules += modules;
    sums.set(key, sum);
  };
  const visit = (part) => {
    if (part instanceof Module) {
      if (part.own) add(part.ownKey(by), part.own * part.times, part.times);
      part.children.forEach((child) => child.value && visit(child));
    } else if (part instanceof Own) add(part.key(by), part.value, 1);
    else part.parts.forEach(visit);
  };
  visit(item);
  return sums;
}

/** Whether a module is meant by what was typed: its type, its line, or its name, of which also the end
 * of its path may be given (`h.3.mlp`, `h.*.mlp`). */
function matcher(text) {
  const sought = text.trim().toLowerCase(), parts = sought.split(".");
  const last = parts.length - 1;
  return (module) => {
    if (module.type.toLowerCase().includes(sought)) return true;
    if (module.source.toLowerCase().includes(sought)) return true;
    for (let i = last, at = module; i >= 0; i -= 1, at = at.parent) {
      if (!at.parent || !isCalled(at, parts[i], i === 0, i === last)) return false;
    }
    return true;
  };
}

/** Whether part of a path that was typed stands for a module; the first and the last may be cut. */
function isCalled(module, part, isFirst, isLast) {
  const name = module.shown.toLowerCase(), number = Number(part);
  if (typeof module.name === "number" && part !== "") {
    const end = module.name + module.repeat;
    if (part === "*" || (module.name <= number && number < end)) return true;
  }
  if (isFirst && isLast) return name.includes(part);
  return isFirst ? name.endsWith(part) : isLast ? name.startsWith(part) : name === part;
}

/** The modules that are meant, and all modules that hold one. */
function hitsIn(root, test) {
  const hits = new Set(), holders = new Set();
  let value = 0;
  const visit = (module, isInside) => {
    const isHit = test(module);
    if (isHit) hits.add(module);
    if (isHit && !isInside) value += module.value;
    let holds = false;
    for (const child of module.children) if (visit(child, isInside || isHit)) holds = true;
    if (holds) holders.add(module);
    return isHit || holds;
  };
  visit(root, false);
  return { hits, holders, value };
}
