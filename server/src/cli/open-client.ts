import { Countersign } from '@countersign/client'
import { CommandError, EXIT } from './exit.js'
import type { ServerAccess } from './server-access.js'

/** @throws CommandError for a URL or a key that cannot be one */
export function openClient(access: ServerAccess): Countersign {
  try {
    return new Countersign(access)
  } catch (cause) {
    throw new CommandError(EXIT.usage, (cause as Error).message, { cause })
  }
}
