import type { Document } from 'mongodb'
import { addressOf } from './url.js'

/** It speaks MongoDB's protocol, but lacks what the store is built on. Nothing was changed there. */
export class UnfitDatabaseError extends Error {
  override readonly name = 'UnfitDatabaseError'

  constructor(url: string) {
    super(
      `The database at ${addressOf(url)} is FerretDB. Countersign does not run on FerretDB: there, two updates with the ` +
        'same condition may both apply, so budgets count wrong. Use a MongoDB, or unset MONGODB_URL to use the embedded store.',
    )
  }
}

/**
 * FerretDB answers with the version of a MongoDB, and adds members with its own name: `ferretdbVersion` in releases 1, `ferretdb`
 * in releases 2.
 *
 * @param buildInfo the answer to the command
 * @throws UnfitDatabaseError
 */
export function assertFit(buildInfo: Document, url: string): void {
  if (Object.keys(buildInfo).some((name) => /^ferretdb/i.test(name))) throw new UnfitDatabaseError(url)
}
