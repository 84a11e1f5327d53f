import { Countersign } from '@countersign/client'
import { usageError } from './exit.js'
import type { ServerAccess } from './server-access.js'

/** @throws CommandError for an invalid URL or key */
export function openClient(access: ServerAccess): Countersign {
  try {
    return new Countersign(access)
  } catch (cause) {
    throw usageError((cause as Error).message, cause)
  }
}
