/** The only file that uses the database library: plain SQL in, plain rows out. */
import { pathToFileURL } from 'node:url'
import Database from 'libsql'

export type SqlValue = string | number | null
export type Row = Readonly<Record<string, SqlValue>>

/** How long a writer waits for a lock that another connection holds briefly. */
export const BUSY_TIMEOUT_MS = 2000

type Statement = ReturnType<InstanceType<typeof Database>['prepare']>

/** One connection. Synchronous; a statement is prepared once and kept. */
export class Connection {
  readonly #database: InstanceType<typeof Database>
  readonly #statements = new Map<string, Statement>()
  #isOpen = true
  #isInTransaction = false

  private constructor(location: string) {
    this.#database = new Database(location)
  }

  static open(path: string): Connection {
    return new Connection(path)
  }

  /** @param parameters for SQLite's URI */
  static openReadOnly(path: string, ...parameters: readonly string[]): Connection {
    return new Connection(`${pathToFileURL(path).href}?${['mode=ro', ...parameters].join('&')}`)
  }

  /** Runs statements without values. */
  execute(sql: string): void {
    this.#assertOpen()
    this.#database.exec(sql)
  }

  /** Runs statements without values in one transaction. */
  executeAll(sql: string): void {
    try {
      this.execute(`BEGIN IMMEDIATE; ${sql}; COMMIT`)
    } catch (error) {
      this.#rollBack()
      throw error
    }
  }

  /** Returns the number of changed rows. */
  run(sql: string, ...values: readonly SqlValue[]): number {
    return this.#prepared(sql, values).run(values).changes
  }

  get(sql: string, ...values: readonly SqlValue[]): Row | undefined {
    return this.#prepared(sql, values).get(values) as Row | undefined
  }

  all(sql: string, ...values: readonly SqlValue[]): readonly Row[] {
    return this.#prepared(sql, values).all(values) as Row[]
  }

  /** Runs several reads on one state of the database. */
  snapshot<T>(read: () => T): T {
    this.run('BEGIN')
    try {
      return read()
    } finally {
      this.run('COMMIT')
    }
  }

  /** Does all of the work or none of it; throws what `work` or the commit threw. */
  transaction<T>(work: () => T): T {
    // A nested transaction is part of the outer one.
    if (this.#isInTransaction) return work()
    this.run('BEGIN IMMEDIATE')
    this.#isInTransaction = true
    try {
      const result = work()
      this.run('COMMIT')
      return result
    } catch (error) {
      this.#rollBack()
      throw error
    } finally {
      this.#isInTransaction = false
    }
  }

  /** Runs work that may find the database locked by another connection: it then fails at once. */
  withoutWaiting<T>(work: () => T): T {
    this.execute('PRAGMA busy_timeout = 0')
    try {
      return work()
    } finally {
      this.execute(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`)
    }
  }

  close(): void {
    if (!this.#isOpen) return
    this.#isOpen = false
    this.#statements.clear()
    this.#database.close()
  }

  #rollBack(): void {
    try {
      this.#database.exec('ROLLBACK')
    } catch {
      // SQLite has already rolled back by itself (a full disk, a failed read or write).
    }
  }

  #prepared(sql: string, values: readonly SqlValue[]): Statement {
    this.#assertOpen()
    // The library aborts the whole process on a boolean and stores undefined as null.
    for (const value of values) {
      if (value !== null && typeof value !== 'string' && typeof value !== 'number') {
        throw new TypeError(`A ${typeof value} is not an SQL value.`)
      }
    }
    let statement = this.#statements.get(sql)
    if (statement === undefined) {
      statement = this.#database.prepare(sql)
      this.#statements.set(sql, statement)
    }
    return statement
  }

  #assertOpen(): void {
    if (!this.#isOpen) throw new Error('The connection is closed.')
  }
}

/** Returns SQLite's own name of the failure (`SQLITE_FULL`), when the error came from SQLite. */
export function sqliteCode(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error) || typeof error.code !== 'string') return undefined
  return error.code
}

/** Whether SQLite found damage, as opposed to a full disk, a lack of memory or a lock. */
export function isDamage(error: unknown): boolean {
  const code = sqliteCode(error)
  return code?.startsWith('SQLITE_CORRUPT') === true || code?.startsWith('SQLITE_NOTADB') === true
}

/** Reads on a connection; rejects with StoreUnavailableError. */
export type Read = <Parameters extends readonly unknown[], Found>(
  work: (db: Connection, ...parameters: Parameters) => Found | Promise<Found>,
  parameters: Parameters,
) => Promise<Found>
