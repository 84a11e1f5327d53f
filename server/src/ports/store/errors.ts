/** The errors of a store. The error of a failed condition is next to the conditions, in `store.ts`. */

/** Nothing was permitted: the store could not answer. */
export class StoreUnavailableError extends Error {
  override readonly name = 'StoreUnavailableError'

  /** @param settled resolves when the failed call can have no further effect */
  constructor(
    message: string,
    options?: ErrorOptions,
    readonly settled: Promise<void> = Promise.resolve(),
  ) {
    super(message, options)
  }
}

/**
 * The document of a row does not belong to the record of that row: the store was edited. Such a document is never used,
 * and so nothing was permitted.
 */
export class DamagedRecordError extends StoreUnavailableError {
  /**
   * @param id by which the store finds the row
   * @param member the member of the document that differs from the row; `document` for one that is not a JSON object
   * @param stored the value in the document
   */
  constructor(
    readonly kind: 'decision' | 'policy' | 'agent' | 'key' | 'webhook' | 'delivery',
    readonly id: string,
    readonly member: 'id' | 'version' | 'status' | 'expires_at' | 'document',
    readonly stored: string | number | null,
  ) {
    super(
      `The store is damaged: the row of ${kind} ${id} contains a document ` +
        `${member === 'document' ? 'that is not a JSON object' : `whose ${member} is ${JSON.stringify(stored)}`}. ` +
        'It may have been edited.' +
        // The audit log does not bind deliveries.
        (kind === 'delivery' ? '' : ' countersign audit verify --records --offline names all such rows.'),
    )
  }
}

/** Called with the error of each damaged row, which is then left out. */
export type OnDamaged = (error: DamagedRecordError) => void

/** The data were written by a newer release of Countersign; this one would misread them. They stay unchanged. */
export class NewerSchemaError extends Error {
  override readonly name = 'NewerSchemaError'

  /** @param location of the data, without credentials */
  constructor(location: string, found: number, known: number) {
    super(
      `${location} has schema version ${found}, but this release supports versions up to ${known}. ` +
        'Start the release that wrote it, or a newer release.',
    )
  }
}
