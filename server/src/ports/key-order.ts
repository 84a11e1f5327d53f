import type { KeyCreate } from '@countersign/contract'
import type { KeySecret } from './documents.js'

/** What the operator on the server's own machine wants: a key of a secret whose text nobody else knows. */
export interface KeyOrder {
  readonly key: KeyCreate
  readonly secret: KeySecret
}

/** The key is there, durably, or it was refused for good; `refused` is a sentence for the operator. */
export type KeyOrderAnswer = { readonly made: true } | { readonly refused: string }
