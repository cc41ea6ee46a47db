// A picture of a run: which server has how many sessions, and what readers get, while servers die.

/** Looks four times a second. */
export function watchTakeover({ nodes, database, counts }) {
  const startedAt = performance.now();
  const samples = [];
  const kills = [];
  let isBusy = false;
  const look = async () => {
    if (isBusy) return;
    isBusy = true;
    const rows = await database.query(
      `SELECT n.pid, count(*)::int4 AS held FROM chimera.session s JOIN chimera.node n ON n.node = s.owner GROUP BY 1`,
    );
    const held = new Map(rows.map((row) => [row.pid, row.held]));
    const at = (performance.now() - startedAt) / 1000;
    const up = nodes.all.map(({ child, isUp }) => ({ held: held.get(child.pid) ?? 0, isUp }));
    samples.push({ at, nodes: up, delivered: counts.delivered });
    isBusy = false;
  };
  const timer = setInterval(() => void look(), 250);
  return {
    /** A server is killed now. */
    mark: () => kills.push((performance.now() - startedAt) / 1000),
    stop() {
      clearInterval(timer);
      return { samples, kills };
    },
  };
}

const WIDTH = 860;
const LEFT = 56;
const RIGHT = 14;
const PANEL = 150;
const TOPS = [62, 262];
const COLOURS = ["#3b82c4", "#e08b3e", "#4f9d69", "#8a63b8", "#c4566b"];
const TEXT = `font-family="system-ui, sans-serif" font-size="12" fill="#333"`;

/** The SVG of what was watched. */
export function drawTakeover({ samples, kills }, leaseMs) {
  const end = samples.at(-1).at;
  const x = (at) => (LEFT + (at / end) * (WIDTH - LEFT - RIGHT)).toFixed(1);
  const totals = samples.map(({ nodes }) => nodes.reduce((sum, { held }) => sum + held, 0));
  const rates = samples.map(({ at, delivered }, i) => {
    const from = samples[Math.max(0, i - 4)];
    return at > from.at ? (delivered - from.delivered) / (at - from.at) : 0;
  });
  const [most, fastest] = [roundUp(Math.max(...totals)), roundUp(Math.max(...rates))];
  const y = (panel, share) => (TOPS[panel] + PANEL * (1 - share)).toFixed(1);

  const areas = samples[0].nodes.map((_, which) => {
    const upTo = (sample, count) => sample.nodes.slice(0, count).reduce((sum, { held }) => sum + held, 0) / most;
    const top = samples.map((sample) => `${x(sample.at)},${y(0, upTo(sample, which + 1))}`);
    const bottom = samples.map((sample) => `${x(sample.at)},${y(0, upTo(sample, which))}`).reverse();
    return `<polygon points="${[...top, ...bottom].join(" ")}" fill="${COLOURS[which]}" fill-opacity="0.75"/>`;
  });
  const down = samples[0].nodes.flatMap((_, which) =>
    samples.flatMap(({ at, nodes }, i) =>
      nodes[which].isUp || i === 0
        ? []
        : [
            `<rect x="${x(samples[i - 1].at)}" y="${TOPS[1] + PANEL + 24 + which * 7}" width="${(x(at) - x(samples[i - 1].at)).toFixed(1)}" height="5" fill="${COLOURS[which]}"/>`,
          ],
    ),
  );
  const line = samples.map(({ at }, i) => `${x(at)},${y(1, rates[i] / fastest)}`).join(" ");
  const height = TOPS[1] + PANEL + 24 + samples[0].nodes.length * 7 + 12;
  const axis = (panel, largest, title) => [
    `<text x="${LEFT}" y="${TOPS[panel] - 10}" ${TEXT}>${title}</text>`,
    ...[0, 0.5, 1].flatMap((share) => [
      `<line x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${y(panel, share)}" y2="${y(panel, share)}" stroke="#ddd"/>`,
      `<text x="${LEFT - 8}" y="${Number(y(panel, share)) + 4}" text-anchor="end" ${TEXT}>${largest * share}</text>`,
    ]),
  ];
  const seconds = Array.from({ length: Math.floor(end / 10) + 1 }, (_, i) => i * 10);
  return `${[
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="Sessions by server and records delivered while servers are killed">`,
    `<rect width="100%" height="100%" fill="#fff"/>`,
    `<text x="${LEFT}" y="24" ${TEXT} font-weight="600">A server is killed at each dashed line; lease ${leaseMs / 1000} s</text>`,
    ...axis(0, most, "sessions, by the server that has them"),
    ...axis(1, fastest, "records delivered to readers, per second"),
    ...areas,
    `<polyline points="${line}" fill="none" stroke="#333" stroke-width="1.5"/>`,
    ...kills.map(
      (at) =>
        `<line x1="${x(at)}" x2="${x(at)}" y1="${TOPS[0]}" y2="${TOPS[1] + PANEL}" stroke="#b3261e" stroke-dasharray="4 3"/>`,
    ),
    ...seconds.map(
      (at) => `<text x="${x(at)}" y="${TOPS[1] + PANEL + 16}" text-anchor="middle" ${TEXT}>${at} s</text>`,
    ),
    `<text x="${LEFT - 8}" y="${TOPS[1] + PANEL + 38}" text-anchor="end" ${TEXT}>down</text>`,
    ...down,
    "</svg>",
  ].join("\n")}\n`;
}

/** The next number that begins with 1, 2 or 5. */
function roundUp(value) {
  const unit = 10 ** Math.floor(Math.log10(Math.max(1, value)));
  return [1, 2, 5, 10].map((step) => step * unit).find((step) => step >= value);
}
