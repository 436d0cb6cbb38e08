"""The inline style sheet of an owner report: light and dark, for phones, desktops and print."""

from typing import Final

STYLE: Final = """
:root {
  color-scheme: light dark;
  --paper: #faf9f7; --card: #ffffff; --ink: #1b2126; --soft: #55606a; --line: #d9dcdd;
  --real: #2f6db3; --synthetic: #c2560c; --warn: #8f1414; --warn-ink: #ffffff; --note: #fdf4e0; --strong: #0c1013;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #14181b; --card: #1c2226; --ink: #e8ebed; --soft: #a7b1b8; --line: #343c42;
    --real: #6fa8e8; --synthetic: #f29a52; --warn: #b32020; --warn-ink: #ffffff; --note: #37290c; --strong: #0c1013;
  }
}
*, *::before, *::after { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; scroll-padding-top: 4rem; }
body {
  margin: 0; padding-top: 2.6rem; background: var(--paper); color: var(--ink); overflow-wrap: break-word;
  font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Helvetica Neue", sans-serif;
}
.mark {
  position: fixed; inset: 0 0 auto 0; z-index: 9; padding: 0.45rem 1rem; text-align: center; font-weight: 650;
  background: var(--warn); color: var(--warn-ink); -webkit-print-color-adjust: exact; print-color-adjust: exact;
}
main { width: min(66rem, 100% - 2rem); margin: 1.6rem auto 3rem; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0 0 0.5rem; letter-spacing: -0.01em; }
h2 { font-size: 1.25rem; line-height: 1.3; margin: 2.4rem 0 0.6rem; }
h3 { font-size: 1.02rem; margin: 1.4rem 0 0.3rem; }
p { margin: 0.4rem 0; max-width: 72ch; }
li { max-width: 72ch; }
.fine { color: var(--soft); font-size: 0.9rem; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 1rem 1.1rem; min-width: 0; }
.grid { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 19rem), 1fr)); gap: 1rem; margin: 1rem 0; }
.grid.three { grid-template-columns: repeat(auto-fit, minmax(min(100%, 17rem), 1fr)); }
.figure b { display: block; font-size: 1.6rem; line-height: 1.2; font-variant-numeric: tabular-nums; }
.figure span { display: block; }
.note { background: var(--note); border: 1px solid var(--line); border-radius: 10px; padding: 0.8rem 1.1rem; margin: 1rem 0; }
.note > :first-child { margin-top: 0; } .note > :last-child { margin-bottom: 0; }
.facts { display: grid; grid-template-columns: max-content 1fr; gap: 0.15rem 1.2rem; margin: 0.8rem 0; }
.facts dt { color: var(--soft); } .facts dd { margin: 0; overflow-wrap: anywhere; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: 0.92rem; }
th, td { text-align: left; padding: 0.3rem 0.7rem 0.3rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
thead th { color: var(--soft); font-weight: 600; vertical-align: bottom; }
th[scope="row"] { font-weight: 500; }
.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
figure { margin: 0; }
figcaption { font-weight: 600; overflow-wrap: anywhere; }
.columns .card { padding: 0.8rem 0.9rem; }
.columns svg { display: block; width: 100%; height: 7rem; margin: 0.4rem 0 0.1rem; }
.ends { display: flex; justify-content: space-between; gap: 1rem; color: var(--soft); font-size: 0.8rem; margin: 0; }
.shares td, .shares th { border: 0; padding: 0.12rem 0.4rem 0.12rem 0; font-size: 0.85rem; vertical-align: middle; }
.shares { table-layout: fixed; }
.shares th { width: 40%; overflow-wrap: break-word; line-height: 1.25; }
.shares td.b { width: 26%; }
.shares svg { height: 1.05rem; margin: 0; }
.real { fill: var(--real); } .synthetic { fill: var(--synthetic); }
.area { fill: var(--real); fill-opacity: 0.35; }
.step { fill: none; stroke: var(--synthetic); stroke-width: 2; vector-effect: non-scaling-stroke; }
.base { stroke: var(--line); vector-effect: non-scaling-stroke; }
.key { display: inline-block; width: 0.8em; height: 0.8em; border-radius: 2px; margin: 0 0.3em 0 0; vertical-align: -0.05em; }
.key.r { background: var(--real); } .key.s { background: var(--synthetic); margin-left: 1em; }
.map svg { display: block; width: 100%; height: auto; }
.map text { font: 11px system-ui, sans-serif; fill: var(--ink); }
.map .v { font-size: 9.5px; text-anchor: middle; }
.map .v.on { fill: var(--strong); }
.map .h { text-anchor: middle; fill: var(--soft); }
.cell { fill: var(--synthetic); } .cell.a { fill: var(--real); }
.edge { fill: none; stroke: var(--line); }
pre { white-space: pre-wrap; overflow-wrap: anywhere; font-size: 0.85rem; }
nav ul { list-style: none; padding: 0; margin: 0.8rem 0; display: flex; flex-wrap: wrap; gap: 0.2rem 1.1rem; }
a { color: inherit; text-underline-offset: 0.2em; }
@media (max-width: 36rem) {
  h1 { font-size: 1.4rem; }
  .facts { grid-template-columns: 1fr; gap: 0; } .facts dd { margin-bottom: 0.4rem; }
  .mark { font-size: 0.92rem; padding-inline: 0.5rem; }
}
@media print { .card, figure { break-inside: avoid; } body { background: #ffffff; } }
"""
