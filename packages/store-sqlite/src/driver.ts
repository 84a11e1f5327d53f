/** The only file through which the store touches the database library: plain SQL in, plain rows out. */
import { pathToFileURL } from 'node:url'
import Database from 'libsql'

export type SqlValue = string | number | null
export type Row = Readonly<Record<string, SqlValue>>

/** How long a writer waits for a lock that somebody else has for a moment. */
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

  static openReadOnly(path: string): Connection {
    return new Connection(`${pathToFileURL(path).href}?mode=ro`)
  }

  /** Runs statements that take no values. */
  execute(sql: string): void {
    this.#assertOpen()
    this.#database.exec(sql)
  }

  /** The same in one transaction: all of it or nothing. */
  executeAll(sql: string): void {
    try {
      this.execute(`BEGIN IMMEDIATE; ${sql}; COMMIT`)
    } catch (error) {
      this.#rollBack()
      throw error
    }
  }

  /** The number of rows that changed. */
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

  /** All of the work or nothing of it; throws what `work` or the commit threw. */
  transaction<T>(work: () => T): T {
    // One inside another is a part of it.
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

  /** Runs what may find the database locked by another connection: it is told so at once. */
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
      // SQLite has rolled back by itself (a full disk, a failed read or write).
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

/** SQLite's own name of what went wrong (`SQLITE_FULL`), when the error came from it. */
export function sqliteCode(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error) || typeof error.code !== 'string') return undefined
  return error.code
}

/** Whether SQLite found damage, as opposed to a full disk, a lack of memory or a lock. */
export function isDamage(error: unknown): boolean {
  const code = sqliteCode(error)
  return code?.startsWith('SQLITE_CORRUPT') === true || code?.startsWith('SQLITE_NOTADB') === true
}
