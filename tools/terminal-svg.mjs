// Screens of a terminal, as tmux captures them with their colours, drawn as one SVG that shows them in turn.

const CELL = { width: 8.4, height: 19 };
const PAD = { x: 18, top: 44, bottom: 16 };
const COLOURS = { 31: "#f7768e", 32: "#9ece6a", 33: "#e0af68", 34: "#7aa2f7", 35: "#bb9af7", 36: "#7dcfff" };
const PLAIN = "#c0caf5";
const DIM = "#6b7394";
const ESCAPE = String.fromCharCode(27);
/** A change of style, or text without one. */
const PIECE = new RegExp(`${ESCAPE}\\[([\\d;]*)m|([^${ESCAPE}]+)`, "g");

/**
 * `screens` are `{ text, seconds }`. A viewer that does not animate, or whose owner does not like it, shows the last one.
 */
export function drawScreens(screens, { columns, rows, title }) {
  const width = Math.ceil(PAD.x * 2 + columns * CELL.width);
  const height = PAD.top + PAD.bottom + rows * CELL.height;
  const total = screens.reduce((sum, { seconds }) => sum + seconds, 0);
  let at = 0;
  const timing = screens.map(({ seconds }, index) => {
    const [from, to] = [at / total, (at + seconds) / total].map((share) => `${(share * 100).toFixed(2)}%`);
    at += seconds;
    const before = index === 0 ? "" : `0%{opacity:0}`;
    const after = index === screens.length - 1 ? "" : `${to}{opacity:0}`;
    return `@keyframes s${index}{${before}${from}{opacity:1}${after}}`;
  });
  const last = screens.length - 1;
  const style = [
    `text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:${PLAIN};white-space:pre}`,
    `.s{opacity:0}#s${last}{opacity:1}.b{font-weight:700}.d{fill:${DIM}}`,
    ...Object.entries(COLOURS).map(([code, colour]) => `.c${code}{fill:${colour}}`),
    ...timing,
    `@media (prefers-reduced-motion:no-preference){${screens
      .map((_, index) => `#s${index}{animation:s${index} ${total}s step-end infinite}`)
      .join("")}}`,
  ].join("\n");
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">`,
    `<title>${escapeXml(title)}</title>`,
    `<style>${style}</style>`,
    `<rect width="${width}" height="${height}" rx="10" fill="#1a1b26"/>`,
    ...["#f7768e", "#e0af68", "#9ece6a"].map(
      (fill, index) => `<circle cx="${22 + index * 20}" cy="20" r="6" fill="${fill}"/>`,
    ),
    `<text x="${width / 2}" y="25" text-anchor="middle" class="d">${escapeXml(title)}</text>`,
    ...screens.map(({ text }, index) => `<g id="s${index}" class="s">\n${drawScreen(text)}\n</g>`),
    "</svg>\n",
  ].join("\n");
}

// --- internal ---

function drawScreen(text) {
  let style = {};
  return text
    .split("\n")
    .flatMap((line, row) => {
      let column = 0;
      const runs = [];
      for (const [, codes, plain] of line.matchAll(PIECE)) {
        if (plain === undefined) {
          style = styled(style, codes);
          continue;
        }
        const x = (PAD.x + column * CELL.width).toFixed(1);
        column += [...plain].length;
        if (plain.trim() !== "") runs.push(`<tspan x="${x}"${classOf(style)}>${escapeXml(plain.trimEnd())}</tspan>`);
      }
      const y = PAD.top + row * CELL.height + 14;
      return runs.length === 0 ? [] : [`<text y="${y}" xml:space="preserve">${runs.join("")}</text>`];
    })
    .join("\n");
}

function styled(before, codes) {
  let style = before;
  for (const code of codes.split(";").map(Number)) {
    if (code === 0) style = {};
    else if (code === 1) style = { ...style, bold: true };
    else if (code === 2) style = { ...style, dim: true };
    else if (code === 22) style = { ...style, bold: false, dim: false };
    else if (code === 39) style = { ...style, colour: undefined };
    else if (code in COLOURS) style = { ...style, colour: code };
  }
  return style;
}

function classOf({ bold, dim, colour }) {
  const names = [bold && "b", dim && "d", colour && `c${colour}`].filter(Boolean);
  return names.length === 0 ? "" : ` class="${names.join(" ")}"`;
}

function escapeXml(text) {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}
