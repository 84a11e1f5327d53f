/**
 * Characters that a reader cannot see, or that change the order in which text is read. An agent could use them to hide a part
 * of its request. A line break is visible.
 */
const INVISIBLE =
  /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}]|\u034f|\u115f|\u1160|\u17b4|\u17b5|[\u180b-\u180e]|\u3164|\uffa0/gu

/** Replaces each invisible character with its escape, such as `\u202e`. */
export function visibleText(text: string): string {
  return text.replace(INVISIBLE, (character) => {
    if (character === '\n') return character
    const code = character.codePointAt(0) as number
    return code > 0xffff ? `\\u{${code.toString(16)}}` : `\\u${code.toString(16).padStart(4, '0')}`
  })
}
