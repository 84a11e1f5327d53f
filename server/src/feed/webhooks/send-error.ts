/** Says why there was no answer, in a sentence that reveals nothing about the internal network. */
export class SendError extends Error {
  override readonly name = 'SendError'
}

/** Returns why there was no answer, in a sentence without addresses and without text from the other side. */
export function sentenceOf(error: unknown): string {
  if (error instanceof SendError) return error.message
  const code = (error as NodeJS.ErrnoException)?.code ?? ''
  return SENTENCES[code] ?? FAMILIES.find(([form]) => form.test(code))?.[1] ?? 'The request failed.'
}

const RESET = 'The connection was closed before there was a response.'
const UNREACHABLE = 'The host cannot be reached.'
/**
 * The same sentence covers a name without an address and one with a private address. Otherwise a caller who may write
 * webhooks could find out which internal names exist.
 */
export const NO_PUBLIC_ADDRESS = 'The host has no public address, or its name cannot be resolved.'
const UNTRUSTED = 'The certificate is not from a trusted authority.'

const SENTENCES: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'The connection was refused.',
  ECONNRESET: RESET,
  EPIPE: RESET,
  EHOSTUNREACH: UNREACHABLE,
  ENETUNREACH: UNREACHABLE,
  EADDRNOTAVAIL: UNREACHABLE,
  ETIMEDOUT: UNREACHABLE,
  CERT_HAS_EXPIRED: 'The certificate has expired.',
  CERT_NOT_YET_VALID: 'The certificate is not valid yet.',
  ERR_TLS_CERT_ALTNAME_INVALID: 'The certificate is for another host.',
  DEPTH_ZERO_SELF_SIGNED_CERT: UNTRUSTED,
  SELF_SIGNED_CERT_IN_CHAIN: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNTRUSTED,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNTRUSTED,
}

/** Matches error codes by their beginning. */
const FAMILIES: readonly (readonly [form: RegExp, sentence: string])[] = [
  [/^(ENOTFOUND|EAI_|ENODATA|ESERVFAIL)/, NO_PUBLIC_ADDRESS],
  [/^HPE_/, 'The response is not valid HTTP.'],
  [/^(CERT_|UNABLE_TO_|INVALID_|HOSTNAME_)/, 'The certificate is not valid.'],
  [/^(ERR_SSL_|ERR_TLS_|EPROTO)/, 'The TLS handshake failed.'],
]
