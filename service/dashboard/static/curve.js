"use strict";
// Spending over time: a step curve of spent budget with reserved budget stacked above.
(() => {
  const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const day = (seconds) => new Date(seconds * 1000).toISOString().slice(5, 10);
  const minute = (seconds) => new Date(seconds * 1000).toISOString().slice(0, 16).replace("T", " ");
  // Of minutes and longer: a label shows no seconds.
  const MINUTE = 60, DAY = 86400;
  const STEPS = [...[1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720].map((each) => each * MINUTE), ...[1, 2, 5, 10, 30, 60, 90, 120, 180, 365, 730, 1825, 3650].map((each) => each * DAY)];
  const LAST_LABEL = 44;
  const draw = (place) => {
    const curve = JSON.parse(place.dataset.curve);
    if (curve.at.length < 1) return;
    const cap = Number(place.dataset.cap) || null;
    const end = Math.max(curve.at[curve.at.length - 1] + 60, Math.min(Date.now() / 1000, curve.at[curve.at.length - 1] + 86400));
    const at = [curve.at[0] - 60, ...curve.at, end];
    const stairs = (values) => [curve.whole ? 0 : values[0], ...values, values[values.length - 1]];
    const jobs = curve.jobs.split(" ");
    const whose = (place) => (jobs[place - 1] ? `, job ${jobs[place - 1]}` : "");
    const stepped = uPlot.paths.stepped({ align: 1 });
    const axis = () => ({ stroke: style("--soft"), grid: { stroke: style("--line"), width: 1 }, ticks: { stroke: style("--line"), width: 1 } });
    // Without a pointer over the curve the legend shows the latest amounts.
    const amount = (values) => (_, value) => uPlot.fmtNum(value ?? values[values.length - 1]);
    const series = [
      { label: "Time (UTC)", value: (_, seconds, __, place) => (seconds === null ? "now" : minute(seconds) + whose(place)) },
      { label: "Spent and reserved ε", value: amount(curve.reserved), stroke: style("--held"), fill: style("--accent-soft"), width: 2, paths: stepped, points: { show: curve.at.length < 200, size: 5 } },
      { label: "Spent ε", value: amount(curve.spent), stroke: style("--accent"), width: 2, paths: stepped, points: { show: curve.at.length < 200, size: 5 } },
    ];
    const data = [at, stairs(curve.reserved), stairs(curve.spent)];
    if (cap !== null) {
      series.push({ label: "Cap ε", value: amount([cap]), stroke: style("--bad"), width: 1, dash: [6, 4], points: { show: false } });
      data.push(at.map(() => cap));
    }
    const size = () => ({ width: Math.max(200, place.clientWidth), height: 240 });
    place.textContent = "";
    const plot = new uPlot({
      ...size(), series, padding: [null, LAST_LABEL, null, null],
      tzDate: (ts) => uPlot.tzDate(new Date(ts * 1000), "Etc/UTC"),
      scales: { y: { range: (_, low, high) => [0, Math.max(high, cap || 0) * 1.08 || 1] } },
      axes: [{ ...axis(), space: 90, incrs: STEPS, values: (_, times) => times.map(times[1] - times[0] < 86400 ? (time) => minute(time).slice(5) : day) }, { ...axis(), size: 56 }],
      legend: { live: true },
      cursor: { drag: { x: false, y: false } },
    }, data, place);
    new ResizeObserver(() => plot.setSize(size())).observe(place);
    return plot;
  };
  const all = () => document.querySelectorAll("[data-curve]").forEach(draw);
  all();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", all);
})();
