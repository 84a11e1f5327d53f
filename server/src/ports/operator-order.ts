import type { KeyCreate } from '@countersign/contract'
import type { KeySecret } from '@countersign/store-port/documents'

/** What the operator on the server's own machine wants: a key of a secret whose text nobody else knows. */
export interface KeyOrder {
  readonly key: KeyCreate
  readonly secret: KeySecret
}

/** The system clock is right, though it jumped. */
interface ClockOrder {
  readonly clock: 'confirm'
}

export type OperatorOrder = KeyOrder | ClockOrder

/** It is done, durably where it is a key, or was refused for good; `refused` is a sentence for the operator. */
export type OrderAnswer = { readonly done: true } | { readonly refused: string }
