const MAX_LENGTH = 400
/** An API key of Countersign, the secret of a webhook, and what is signed like a permit. */
const SECRETS = /cs_sk_\w+|whsec_[\w+/=]+|eyJ[\w-]*\.[\w-]+(\.[\w-]*)?/g
/** What could end a line of a log, colour it, or turn its direction. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu

/**
 * Text that others have a say in, as it can stand in a line of a log: on one line, of bounded length, and without what looks
 * like an API key, the secret of a webhook or a permit.
 */
export function printable(text: string, maxLength = MAX_LENGTH): string {
  const cut = text.length > maxLength ? `${text.slice(0, maxLength)}…` : text
  return cut.replace(SECRETS, '[secret]').replace(UNPRINTABLE, (one) => `\\u{${one.codePointAt(0)?.toString(16)}}`)
}
