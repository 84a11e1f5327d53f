import type { KeyCreate } from '@countersign/contract'
import type { KeySecret } from '@countersign/store-port/documents'

/** Creates an API key. Only the operator knows the text of its secret. */
export interface CreateKeyCommand {
  readonly key: KeyCreate
  readonly secret: KeySecret
}

/** Confirms that the system clock is right although it jumped. */
interface ConfirmClockCommand {
  readonly clock: 'confirm'
}

/** What the operator asks of a running server, on the server's own machine. */
export type AdminCommand = CreateKeyCommand | ConfirmClockCommand

/** Done (a created key is durable), or refused for good; `refused` is a sentence for the operator. */
export type CommandResult = { readonly done: true } | { readonly refused: string }
