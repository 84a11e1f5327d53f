/** Builds HTML. Every text is escaped unless it was built here. */
import { createHash } from 'node:crypto'

export class Markup {
  constructor(readonly text: string) {}
}

type Piece = Markup | string | number | readonly Piece[]

/** A template of markup: escapes the texts put into it and joins lists. */
export function html(parts: TemplateStringsArray, ...pieces: readonly Piece[]): Markup {
  return new Markup(parts.map((part, i) => part + (i < pieces.length ? textOf(pieces[i] as Piece) : '')).join(''))
}

function textOf(piece: Piece): string {
  if (piece instanceof Markup) return piece.text
  if (typeof piece === 'object') return piece.map(textOf).join('')
  return String(piece).replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}

const STYLE = `
:root { color-scheme: light dark; --line: light-dark(#d8dde3, #3a4149); --soft: light-dark(#f5f7f9, #1d2227); }
body { max-width: 60rem; margin: 0 auto; padding: 1.5rem; font: 1rem/1.5 system-ui, sans-serif;
  color: light-dark(#1b2026, #dfe4ea); background: light-dark(#fff, #14181c); }
a { color: light-dark(#0b57b0, #7db4f5); }
code { font: 0.9em/1.5 ui-monospace, monospace; overflow-wrap: anywhere; }
h2 { margin-top: 3rem; border-bottom: 1px solid var(--line); }
h2:target { background: var(--soft); }
`

const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64')

/** Lets a page load its own style and nothing else. */
const POLICY = `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`

const HEADERS = {
  'Content-Type': 'text/html; charset=utf-8',
  'Content-Security-Policy': POLICY,
  'Cache-Control': 'no-cache',
}

/** A complete page as an answer. It runs no scripts and loads nothing else. */
export function htmlPage(title: string, body: Markup) {
  const { text } = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<link rel="icon" href="data:,">
<style>${new Markup(STYLE)}</style>
</head>
<body>
${body}
</body>
</html>
`
  return { status: 200, headers: HEADERS, text }
}

/** Marks up prose of the catalogue: text in backticks becomes code. */
export function prose(text: string): Markup[] {
  return text.split('`').map((part, i) => (i % 2 === 0 ? html`${part}` : html`<code>${part}</code>`))
}
