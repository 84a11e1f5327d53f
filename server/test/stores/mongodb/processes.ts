/** Processes on one database that die at any write, or whose commands come late. */

import type { Collection, Document } from 'mongodb'
import { StoreUnavailableError } from '#server/ports/store/errors'
import { Database } from '#server/stores/mongodb/connection/database'
import { MongoStore } from '#server/stores/mongodb/mongo-store'
import { openMongoStore } from '#server/stores/mongodb/open'
import { dropDatabase, mongoUrl } from './open-mongo-store.js'
import { change } from './sabotages.js'

/** A process, with what it says to its collections. */
export interface Member {
  readonly store: MongoStore
  readonly database: Database
}

/** Processes on a database of their own. */
export class Processes {
  /** How far ahead the clock of all is. */
  aheadMs = 0
  readonly #name: string
  readonly #sabotage: (database: Database) => void
  readonly #members: Member[] = []

  constructor(name: string, sabotage: (database: Database) => void = () => {}) {
    this.#name = name
    this.#sabotage = sabotage
  }

  async start(): Promise<Member> {
    await (await openMongoStore({ url: mongoUrl(this.#name) })).close()
    const database = await Database.open(mongoUrl(this.#name))
    this.#sabotage(database)
    const store = new MongoStore(database, () => Date.now() + this.aheadMs)
    const member = { store, database }
    this.#members.push(member)
    return member
  }

  async end(): Promise<void> {
    await Promise.all(this.#members.map(({ store }) => store.close()))
    await dropDatabase(this.#name)
  }
}

/** So late that a process which said nothing since is dead. */
export const LATER_MS = 60_000

export type Parameters = readonly unknown[]
type Call = (...parameters: unknown[]) => Promise<unknown>

/** No answer, and no more tries. */
const died = () => Promise.reject(new StoreUnavailableError('It died.'))

/** What is called is as ever once `isOver`. */
export function fails(database: Database, name: keyof Database, method: string): { isOver: boolean } {
  const failing = { isOver: false }
  intercept(database, name, method, (own, parameters) => (failing.isOver ? own(...parameters) : died()))
  return failing
}

/** Puts `act` in the place of a method of a collection. */
export function intercept(
  database: Database,
  name: keyof Database,
  method: string,
  act: (own: Call, parameters: Parameters) => Promise<unknown>,
): void {
  change(database, name, (own: Collection<Document>) => {
    const call = (own as unknown as Record<string, Call>)[method]?.bind(own) as Call
    return { [method]: (...parameters: unknown[]) => act(call, parameters) }
  })
}

/** The first command of a kind comes through once more, late: when the answer is asked for. */
export function comesLate(
  database: Database,
  name: keyof Database,
  method: string,
  isMeant: (parameters: Parameters) => boolean = () => true,
): () => Promise<unknown> {
  let late: (() => Promise<unknown>) | null = null
  intercept(database, name, method, (own, parameters) => {
    if (late === null && isMeant(parameters)) late = () => own(...parameters)
    return own(...parameters)
  })
  return () => {
    if (late === null) throw new Error(`There was no such ${method} of ${name}.`)
    return late()
  }
}

/** Does something right before the first call. */
export function before(database: Database, name: keyof Database, method: string, act: () => Promise<unknown>): void {
  let isDone = false
  intercept(database, name, method, async (own, parameters) => {
    if (!isDone) {
      isDone = true
      await act()
    }
    return own(...parameters)
  })
}
