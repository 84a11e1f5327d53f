const MAX_LENGTH = 400
/** An API key of Countersign, the secret of a webhook, and any token in the form of a permit. */
const SECRETS = /cs_sk_\w+|whsec_[\w+/=]+|eyJ[\w-]*\.[\w-]+(\.[\w-]*)?/g
/** Characters that could end a log line, color it, or reverse its direction. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu

/**
 * Makes foreign text safe for a log line: one line, of bounded length, without anything that looks like an API key, a
 * webhook secret or a permit.
 */
export function printable(text: string, maxLength = MAX_LENGTH): string {
  const cut = text.length > maxLength ? `${text.slice(0, maxLength)}…` : text
  return cut.replace(SECRETS, '[secret]').replace(UNPRINTABLE, (one) => `\\u{${one.codePointAt(0)?.toString(16)}}`)
}
