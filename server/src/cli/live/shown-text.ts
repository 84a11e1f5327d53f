import { printable } from '@countersign/client/kernel'
import pc from 'picocolors'

/** Without a terminal, or when the person wants none, everything stays as it is. */
export function terminalColors() {
  return pc.createColors(process.stdout.isTTY === true && !process.env.NO_COLOR)
}

/**
 * A text that agents have a say in, as one column of a line: nothing in it ends the line, colours or turns it, and white space in
 * it does not look like the end of the column.
 */
export function column(text: string): string {
  const shown = printable(text)
  return shown === '' || /[\s"\u2800\u3164]/u.test(shown) ? `"${shown.replace(/["\\]/g, '\\$&')}"` : shown
}

/** JSON on one line that is safe on a terminal: what a terminal may obey is escaped, and reads as the same JSON. */
export function jsonLine(value: unknown): string {
  return JSON.stringify(value).replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (character) =>
    [...Array(character.length).keys()]
      .map((at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`)
      .join(''),
  )
}
