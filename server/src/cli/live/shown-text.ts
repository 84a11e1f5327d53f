import { printable } from '@countersign/client/text'
import pc from 'picocolors'

/** Without a terminal, or when the person turned colors off, texts stay unchanged. */
export function terminalColors() {
  return pc.createColors(process.stdout.isTTY === true && !process.env.NO_COLOR)
}

/**
 * Makes an agent-controlled text safe as one column of a line: it cannot end the line, color or reorder it, and its
 * white space does not look like the end of the column.
 */
export function column(text: string): string {
  const shown = printable(text)
  return shown === '' || /[\s"\u2800\u3164]/u.test(shown) ? `"${shown.replace(/["\\]/g, '\\$&')}"` : shown
}

/**
 * Writes JSON on one line that is safe on a terminal: control characters are escaped, and the JSON value stays the
 * same.
 */
export function jsonLine(value: unknown): string {
  return JSON.stringify(value).replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (character) =>
    [...Array(character.length).keys()]
      .map((at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`)
      .join(''),
  )
}
