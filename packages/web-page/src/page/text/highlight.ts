/** Colours only code near the screen, because most of a long session is never looked at. */

/** Longer code is not coloured. */
const CODE_CHARS = 20_000;

const seen = new IntersectionObserver(
  (entries) => {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting) continue;
      seen.unobserve(target);
      void colour(target as HTMLElement);
    }
  },
  { rootMargin: "200px" },
);

/** Watches the closed code blocks below a node. */
export function highlightWhenSeen(node: ParentNode): void {
  for (const code of node.querySelectorAll("code[data-language]")) seen.observe(code);
}

// --- internal ---

async function colour(code: HTMLElement): Promise<void> {
  const text = code.textContent ?? "";
  if (text.length > CODE_CHARS) return;
  // Without it the code is still there.
  const { highlight } = await import("./languages.js").catch(() => ({ highlight: () => null }));
  const nodes = highlight(text, code.dataset["language"] ?? "");
  if (nodes) code.replaceChildren(...nodes);
}
