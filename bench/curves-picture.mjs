// Curves as one SVG, a panel each. Both axes are logarithmic: what costs the same at every size is level, and what grows as its size
// does climbs as the grey line does.

const [WIDTH, PER_ROW, PANEL, GAP] = [900, 3, { width: 230, height: 150 }, { x: 64, y: 92 }];
const COLOURS = ["#3b82c4", "#e08b3e", "#4f9d69"];
const TEXT = `font-family="system-ui, sans-serif" font-size="12" fill="#333"`;

/** `curves` are `{ title, unit, lines, points: [{ size, figures }] }`, with a figure for each line. */
export function drawCurves(curves) {
  const height = Math.ceil(curves.length / PER_ROW) * (PANEL.height + GAP.y) + 24;
  const panels = curves.map((curve, i) => {
    const left = GAP.x + (i % PER_ROW) * (PANEL.width + GAP.x);
    const top = 46 + Math.floor(i / PER_ROW) * (PANEL.height + GAP.y);
    return `<g transform="translate(${left} ${top})">\n${panel(curve).join("\n")}\n</g>`;
  });
  return `${[
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="How costs grow with sessions, records, readers, turns and nodes">`,
    `<rect width="100%" height="100%" fill="#fff"/>`,
    ...panels,
    "</svg>",
  ].join("\n")}\n`;
}

// --- internal ---

function panel({ title, unit, lines, points }) {
  const sizes = points.map(({ size }) => size);
  const figures = points.flatMap((point) => point.figures);
  const [low, high] = [Math.floor(Math.log10(Math.min(...figures))), Math.ceil(Math.log10(Math.max(...figures)))];
  const [least, most] = [sizes[0], sizes.at(-1)];
  const x = (size) => (Math.log(size / least) / Math.log(most / least)) * PANEL.width;
  const y = (figure) => PANEL.height * (1 - (Math.log10(figure) - low) / (high - low));
  const powers = Array.from({ length: high - low + 1 }, (_, i) => 10 ** (low + i));
  const path = (values) => values.map(([size, figure]) => `${x(size).toFixed(1)},${y(figure).toFixed(1)}`).join(" ");
  // From the lower left corner, as far as the panel reaches.
  const reached = Math.min(most, least * 10 ** (high - low));
  const proportional = path([
    [least, 10 ** low],
    [reached, 10 ** low * (reached / least)],
  ]);
  return [
    `<text y="-14" ${TEXT} font-weight="600">${title}</text>`,
    ...powers.flatMap((power) => [
      `<line x1="0" x2="${PANEL.width}" y1="${y(power)}" y2="${y(power)}" stroke="#ddd"/>`,
      `<text x="-6" y="${y(power) + 4}" text-anchor="end" ${TEXT}>${power.toLocaleString("en-US")} ${unit}</text>`,
    ]),
    `<polyline points="${proportional}" stroke="#bbb" stroke-dasharray="3 3" fill="none"/>`,
    ...sizes.map(
      (size) =>
        `<text x="${x(size).toFixed(1)}" y="${PANEL.height + 16}" text-anchor="middle" ${TEXT}>${size.toLocaleString("en-US")}</text>`,
    ),
    ...lines.flatMap((line, i) => [
      `<polyline points="${path(points.map((point) => [point.size, point.figures[i]]))}" stroke="${COLOURS[i]}" stroke-width="2" fill="none"/>`,
      ...points.map(
        (point) =>
          `<circle cx="${x(point.size).toFixed(1)}" cy="${y(point.figures[i]).toFixed(1)}" r="3" fill="${COLOURS[i]}"/>`,
      ),
      `<text y="${PANEL.height + 34 + i * 16}" ${TEXT}><tspan fill="${COLOURS[i]}">●</tspan> ${line}</text>`,
    ]),
  ];
}
