/** HTML in which everything is escaped that was not itself made here. */
import { createHash } from 'node:crypto'

export class Markup {
  constructor(readonly text: string) {}
}

type Piece = Markup | string | number | readonly Piece[]

/** A template of markup: texts put into it are escaped, lists are joined. */
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
code, pre { font: 0.9em/1.5 ui-monospace, monospace; overflow-wrap: anywhere; }
h2 { margin-top: 3rem; border-bottom: 1px solid var(--line); }
h3 { margin-top: 2.5rem; }
section > h3:target, h2:target { background: var(--soft); }
table { border-collapse: collapse; width: 100%; margin: 0.75rem 0; }
th, td { text-align: left; vertical-align: top; padding: 0.3rem 0.75rem 0.3rem 0; border-bottom: 1px solid var(--line); }
nav ul { list-style: none; padding: 0; }
summary { cursor: pointer; }
`

const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64')

/** What a page may load: its own style, and nothing else from anywhere. */
const POLICY = `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`

const HEADERS = {
  'Content-Type': 'text/html; charset=utf-8',
  'Content-Security-Policy': POLICY,
  'Cache-Control': 'no-cache',
}

/** A whole page, as an answer. It runs no script and asks for nothing more. */
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

/** Prose of the catalogue and of the schemas: what stands in backticks is code; a code of the catalogue is a link. */
export function prose(text: string, linkOf: (code: string) => string | null = () => null): Markup[] {
  return text.split('`').map((part, i) => {
    if (i % 2 === 0) return html`${part}`
    const link = linkOf(part)
    return link === null ? html`<code>${part}</code>` : html`<a href="${link}"><code>${part}</code></a>`
  })
}
