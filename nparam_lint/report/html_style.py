"""How the page looks: light or dark as the reader's system is, narrow or wide, and on paper."""

STYLE = """\
:root {
  --page: #f4f5f7; --card: #ffffff; --line: #dfe3e8; --ink: #1a1f26; --dim: #57606b;
  --soft: #eef0f3; --link: #1f5fbf;
  --good: #1a6e37; --bad: #b3261e; --warn: #8a5300; --none: #57606b;
  --good-soft: #e3f4e8; --bad-soft: #fdeae8; --warn-soft: #fdf1dc; --none-soft: #eceff2;
  --hue-0: #3b76d1; --hue-1: #2a9d8f; --hue-2: #d9822b; --hue-3: #8457c9; --hue-4: #c7497d;
  --hue-5: #6b8e23;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #0f1318; --card: #171c23; --line: #2b333d; --ink: #e4e9ef; --dim: #9aa6b2;
    --soft: #202731; --link: #7db0ff;
    --good: #5fd07f; --bad: #ff8b80; --warn: #f0b849; --none: #9aa6b2;
    --good-soft: #14301d; --bad-soft: #3a1a18; --warn-soft: #362a10; --none-soft: #232a33;
    --hue-0: #5b95ec; --hue-1: #43b8a9; --hue-2: #e69a4c; --hue-3: #a37fe3; --hue-4: #e0709c;
    --hue-5: #92b84a;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0 auto; max-width: 76rem; padding: 1.5rem 1.25rem 3rem;
  background: var(--page); color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", sans-serif;
  font-variant-numeric: tabular-nums; overflow-wrap: anywhere;
}
code, pre { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono",
  monospace; font-size: 0.9em; }
pre { margin: 0.5rem 0 0; padding: 0.6rem 0.8rem; overflow-x: auto; background: var(--soft);
  border-radius: 6px; line-height: 1.45; }
a { color: var(--link); text-decoration: none; }
a:hover { text-decoration: underline; }
h1 { margin: 0; font-size: 1.5rem; line-height: 1.25; }
h2 { margin: 2.25rem 0 0.75rem; font-size: 1.1rem; }
p { margin: 0.25rem 0; }
ul { list-style: none; margin: 0; padding: 0; }
summary { cursor: pointer; }
:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; border-radius: 4px; }
.said { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%);
  white-space: nowrap; }
.dim, .note { color: var(--dim); }
.note { font-size: 0.85rem; margin-top: 0.6rem; }
.good { --tone: var(--good); --tone-soft: var(--good-soft); }
.bad { --tone: var(--bad); --tone-soft: var(--bad-soft); }
.warn { --tone: var(--warn); --tone-soft: var(--warn-soft); }
.none { --tone: var(--none); --tone-soft: var(--none-soft); }
.mark { flex: none; display: inline-grid; place-items: center; width: 1.6em; height: 1.6em;
  border-radius: 50%; background: var(--tone-soft); color: var(--tone); font-weight: 700;
  line-height: 1; }
.chip { padding: 0 0.45em; border-radius: 1em; background: var(--soft); color: var(--dim);
  font-size: 0.8rem; }

.verdict { display: flex; align-items: center; gap: 1rem; padding: 1.25rem 1.5rem;
  background: var(--tone-soft); border: 1px solid var(--tone); border-radius: 12px; }
.verdict h1 { color: var(--tone); }
.verdict .mark { background: var(--tone); color: var(--card); font-size: 1.5rem; }
.tool { font-size: 0.85rem; letter-spacing: 0.04em; color: var(--dim); }

.table { overflow-x: auto; background: var(--card); border: 1px solid var(--line);
  border-radius: 10px; }
table { width: 100%; border-collapse: collapse; }
caption { text-align: left; padding: 0 0 0.4rem; font-weight: 600; }
th, td { padding: 0.5rem 0.9rem; text-align: left; font-weight: normal; vertical-align: top; }
thead th { font-size: 0.8rem; color: var(--dim); border-bottom: 1px solid var(--line); }
tbody tr + tr > * { border-top: 1px solid var(--line); }
.number { text-align: right; white-space: nowrap; }
.drift { color: var(--tone); font-weight: 600; }
th .mark { font-size: 0.75rem; margin-right: 0.3rem; }
td .place { display: block; font-size: 0.85rem; color: var(--dim); }
.gauge { display: flex; height: 5px; margin-top: 4px; border-radius: 3px; overflow: hidden;
  background: var(--soft); }
.gauge i { background: var(--dim); }
.gauge i + i { background: var(--tone); }
.gauge i.gone { background: repeating-linear-gradient(135deg, var(--tone) 0 2px,
  transparent 2px 5px); }

.card { background: var(--card); border: 1px solid var(--line); border-radius: 10px;
  margin-top: 0.75rem; content-visibility: auto; contain-intrinsic-size: auto 3.5rem; }
.card.bad, .card.warn { border-left: 4px solid var(--tone); }
.card > summary { display: flex; align-items: center; gap: 0.75rem; padding: 0.75rem 1rem;
  border-radius: 10px; }
.card > summary:hover { background: var(--soft); }
.card > summary::after { content: "▸"; color: var(--dim); }
.card[open] > summary::after { content: "▾"; }
.advice { font-size: 0.92rem; }
.title { flex: 1; min-width: 0; }
.title b { font-size: 1.05rem; }
.title .place { display: block; font-size: 0.85rem; color: var(--dim); }
.sum { text-align: right; font-size: 1.25rem; font-weight: 600; white-space: nowrap; }
.sum small { display: block; font-size: 0.75rem; font-weight: normal; color: var(--dim); }
.inside { padding: 0 1rem 1rem; }
.inside > * + * { margin-top: 1rem; }
.facts { display: flex; flex-wrap: wrap; gap: 0.5rem 2rem; margin: 0; padding: 0.25rem 0 0; }
.facts div { min-width: 0; }
.facts dt { font-size: 0.78rem; color: var(--dim); }
.facts dd { margin: 0; }

.findings li { display: flex; gap: 0.75rem; padding: 0.8rem 1rem; background: var(--card);
  border: 1px solid var(--line); border-radius: 10px; margin-top: 0.5rem; }
.findings .mark { font-size: 0.85rem; margin-top: 0.1rem; }
.findings div { min-width: 0; flex: 1; }

.strip { display: flex; gap: 1px; height: 14px; border-radius: 7px; overflow: hidden; }
.strip i { min-width: 0; flex-basis: 0; }
.hue-0 { background: var(--hue-0); } .hue-1 { background: var(--hue-1); }
.hue-2 { background: var(--hue-2); } .hue-3 { background: var(--hue-3); }
.hue-4 { background: var(--hue-4); } .hue-5 { background: var(--hue-5); }
.row { display: grid; align-items: baseline; gap: 0 0.9rem; padding: 0.2rem 0.35rem;
  grid-template-columns: minmax(0, 1fr) 7.5rem 10.5rem 10rem 11rem; border-radius: 5px; }
.row.head { font-size: 0.8rem; color: var(--dim); border-bottom: 1px solid var(--line);
  border-radius: 0; margin-bottom: 0.2rem; }
.row .own, .row .total { text-align: right; }
.row .share { display: flex; align-items: center; justify-content: flex-end; gap: 0.5rem;
  white-space: nowrap; }
.row .source, .type, .times { color: var(--dim); }
.tree .source, .type { font-size: 0.85rem; }
.inside > .row + .tree { margin-top: 0.25rem; }
.tree .row:hover { background: var(--soft); }
.tree ul { margin-left: 0.55rem; padding-left: 0.75rem; border-left: 1px solid var(--line); }
.tree .module { display: block; padding-left: 1.1rem; text-indent: -1.1rem; }
.tree .module::before { content: ""; display: inline-block; width: 1.1rem; text-indent: 0;
  color: var(--dim); }
.tree summary { list-style: none; }
.tree summary::-webkit-details-marker { display: none; }
.tree summary > .module::before { content: "▸"; }
.tree details[open] > summary > .module::before { content: "▾"; }
.bar { flex: none; width: 5rem; height: 8px; border-radius: 4px; overflow: hidden;
  background: var(--soft); }
.bar i { display: block; height: 100%; min-width: 2px; }
.percent { flex: none; width: 4.2rem; text-align: right; }
footer { margin-top: 2.5rem; font-size: 0.85rem; color: var(--dim); }

@media (max-width: 46rem) {
  body { padding: 0.75rem 0.6rem 2rem; font-size: 15px; }
  .verdict { padding: 1rem; }
  h1 { font-size: 1.2rem; }
  pre { white-space: pre-wrap; }
  .table thead { position: absolute; width: 1px; height: 1px; overflow: hidden;
    clip-path: inset(50%); }
  .table tbody tr { display: grid; grid-template-columns: 1fr auto; padding: 0.6rem 0.75rem; }
  .table tbody tr + tr { border-top: 1px solid var(--line); }
  .table tbody tr > * { border: none; padding: 0.1rem 0; }
  .table tbody th, .table tbody .drift, .table tbody .wide { grid-column: 1 / -1; }
  .table td[data-name]::before { content: attr(data-name); display: block; font-size: 0.78rem;
    color: var(--dim); font-weight: normal; }
  .table td.drift { text-align: left; }
  .table td.drift:empty { display: none; }
  .row { grid-template-columns: minmax(0, 1fr) auto; }
  .row .own, .row.head .share { display: none; }
  .row .share { grid-column: 2; }
  .row .source { grid-column: 1; grid-row: 2; padding-left: 1.1rem; }
  .row.head .source { display: none; }
  .bar { width: 4rem; }
  .sum { font-size: 1.05rem; }
}
@media print {
  body { max-width: none; padding: 0; font-size: 11px; background: none; }
  .card, .findings li, tr { break-inside: avoid-page; }
  .card { content-visibility: visible; }
  details::details-content { content-visibility: visible; block-size: auto; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
}
"""
