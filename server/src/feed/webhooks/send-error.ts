/** Why there was no answer, as a sentence that tells nothing of the network inside. */
export class SendError extends Error {
  override readonly name = 'SendError'
}

/** Says why there was no answer, in a sentence without addresses and without what the other side has written. */
export function sentenceOf(error: unknown): string {
  if (error instanceof SendError) return error.message
  const code = (error as NodeJS.ErrnoException)?.code ?? ''
  return SENTENCES[code] ?? FAMILIES.find(([form]) => form.test(code))?.[1] ?? 'The request failed.'
}

const RESET = 'The connection was closed before there was an answer.'
const UNREACHABLE = 'The host cannot be reached.'
const UNRESOLVED = 'The host name cannot be resolved.'
const UNTRUSTED = 'The certificate is not of an authority that is trusted.'

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
  ERR_TLS_CERT_ALTNAME_INVALID: 'The certificate is of another host.',
  DEPTH_ZERO_SELF_SIGNED_CERT: UNTRUSTED,
  SELF_SIGNED_CERT_IN_CHAIN: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNTRUSTED,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNTRUSTED,
}

/** What begins so. */
const FAMILIES: readonly (readonly [form: RegExp, sentence: string])[] = [
  [/^(ENOTFOUND|EAI_|ENODATA|ESERVFAIL)/, UNRESOLVED],
  [/^HPE_/, 'The answer is not valid HTTP.'],
  [/^(CERT_|UNABLE_TO_|INVALID_|HOSTNAME_)/, 'The certificate is not valid.'],
  [/^(ERR_SSL_|ERR_TLS_|EPROTO)/, 'The TLS handshake failed.'],
]
