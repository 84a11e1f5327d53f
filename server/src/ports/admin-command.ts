import type { KeyCreate } from '@countersign/contract'
import type { KeySecret } from './store/documents.js'

/** Creates an API key. Only the operator knows the text of its secret. */
export interface CreateKeyCommand {
  readonly key: KeyCreate
  readonly secret: KeySecret
}

/** Confirms that the system clock is right although it jumped. */
interface ConfirmClockCommand {
  readonly clock: 'confirm'
}

/** Accepts that the audit log in the store does not extend what this server has signed. */
interface AcceptRewriteCommand {
  readonly audit: 'accept-rewrite'
}

/** A request of the operator to a running server, on the server's own machine. */
export type AdminCommand = CreateKeyCommand | ConfirmClockCommand | AcceptRewriteCommand

/** Done (a created key is durable), or permanently refused; `refused` is a sentence for the operator. */
export type CommandResult = { readonly done: true } | { readonly refused: string }
