/** Edits of somebody who can write to the database, and knows nothing else: of the file of a running server, or on MongoDB. */
import { join } from 'node:path'
import { type Document, MongoClient } from 'mongodb'
import { Connection, type Row, type SqlValue } from '#server/stores/sqlite/driver'
import { databaseOf, ON_MONGODB } from './open-test-store.js'
import { mongoUrl } from './stores/mongodb/open-mongo-store.js'

// biome-ignore lint/suspicious/noExplicitAny: documents are whatever the store holds; tests change what they know of it
type AnyDocument = any

/** The columns of the key in a table, and what joins them in the `_id` on MongoDB. */
const KEYS = {
  decisions: [['id'], ''],
  policies: [['id', 'version'], '/'],
  agents: [['id'], ''],
  agent_revisions: [['agent_id', 'revision'], ' '],
  keys: [['id'], ''],
  webhooks: [['id'], ''],
  accounts: [['policy_id'], ''],
  deliveries: [['id'], ''],
} as const
type Table = keyof typeof KEYS

/** Tables whose records are all in one document on MongoDB, and the collection of that. */
const DIRECTORIES = { keys: 'key_directory', webhooks: 'webhook_directory' } as const
type Directory = keyof typeof DIRECTORIES

function isDirectory(table: Table): table is Directory {
  return table in DIRECTORIES
}

export interface EditedStore {
  /** Changes the JSON document of a row. */
  document(table: Table, key: readonly SqlValue[], change: (document: AnyDocument) => void): Promise<void>
  /** Sets a member that is beside the document. */
  member(table: Table, key: readonly SqlValue[], members: Readonly<Record<string, SqlValue>>): Promise<void>
  remove(table: Table, key: readonly SqlValue[]): Promise<void>
  /** Puts a copy of a row under another key. */
  copy(table: Table, key: readonly SqlValue[], to: string, change: (document: AnyDocument) => void): Promise<void>
  /** Puts a row under another key. Its document stays as it is. */
  rename(table: Table, key: readonly SqlValue[], to: string): Promise<void>
  /** Puts a copy of a live policy under another id, with another name. */
  livePolicy(id: string, to: string): Promise<void>
  /** Puts a copy of a closed revision of a policy under another number. Its document stays as it is. */
  copyRevision(id: string, version: number, to: number): Promise<void>
  /** Gives the first revision of a live policy another number. Is not undone. */
  renumberPolicy(id: string, to: number): Promise<void>
  /** Makes all logs look shorter than they are, where documents beside the entries tell their ends. */
  shortenLogs(): Promise<void>
  /** Puts everything back. */
  undo(): Promise<void>
  close(): Promise<void>
}

export function editedStore(dataDir: string): EditedStore {
  return ON_MONGODB ? onMongodb(databaseOf(dataDir)) : inFile(join(dataDir, 'countersign.db'))
}

function inFile(path: string): EditedStore {
  const undos: (() => void)[] = []
  const withFile = <T>(work: (db: Connection) => T): T => {
    const db = Connection.open(path)
    try {
      db.execute('PRAGMA busy_timeout = 5000')
      return work(db)
    } finally {
      db.close()
    }
  }
  const where = (table: Table) => KEYS[table][0].map((column) => `${column} = ?`).join(' AND ')
  const put = (db: Connection, table: Table, row: Row) => {
    // The library adds an object of its own to a row.
    const columns = Object.keys(row).filter((column) => typeof row[column] !== 'object' || row[column] === null)
    const values = columns.map((column) => row[column] ?? null)
    db.run(`INSERT OR REPLACE INTO ${table} (${columns}) VALUES (${columns.map(() => '?')})`, ...values)
  }
  const rowOf = (db: Connection, table: Table, key: readonly SqlValue[]): Row => {
    const row = db.get(`SELECT * FROM ${table} WHERE ${where(table)}`, ...key)
    if (row === undefined) throw new Error(`There is no row ${key.join(' ')} in ${table}.`)
    return row
  }
  const remove = (db: Connection, table: Table, key: readonly SqlValue[]) =>
    void db.run(`DELETE FROM ${table} WHERE ${where(table)}`, ...key)
  const change = async (table: Table, key: readonly SqlValue[], next: (row: Row) => Row | null) =>
    withFile((db) => {
      const row = rowOf(db, table, key)
      undos.push(() => withFile((again) => put(again, table, row)))
      const changed = next(row)
      if (changed === null) remove(db, table, key)
      else put(db, table, changed)
    })
  return {
    document: (table, key, edit) => change(table, key, (row) => ({ ...row, document: edited(row.document, edit) })),
    member: (table, key, members) => change(table, key, (row) => ({ ...row, ...members })),
    remove: (table, key) => change(table, key, () => null),
    copy: async (table, key, to, edit) =>
      withFile((db) => {
        const { seq: _, ...row } = rowOf(db, table, key)
        // No two live policies have one name.
        const name = table === 'policies' && { name: 'copied' }
        put(db, table, { ...row, ...name, id: to, document: edited(row.document, edit) })
        undos.push(() => withFile((again) => remove(again, table, [to, ...key.slice(1)])))
      }),
    rename: async (table, key, to) =>
      withFile((db) => {
        const row = rowOf(db, table, key)
        remove(db, table, key)
        put(db, table, { ...row, id: to })
        undos.push(() =>
          withFile((again) => {
            remove(again, table, [to, ...key.slice(1)])
            put(again, table, row)
          }),
        )
      }),
    livePolicy: async (id, to) =>
      withFile((db) => {
        const { seq: _, ...row } = db.get('SELECT * FROM policies WHERE id = ? ORDER BY version DESC', id) as Row
        put(db, 'policies', { ...row, id: to, version: 1, name: 'forged', document: forged(row.document, to) })
        undos.push(() => withFile((again) => remove(again, 'policies', [to, 1])))
      }),
    copyRevision: async (id, version, to) =>
      withFile((db) => {
        const { seq: _, ...row } = rowOf(db, 'policies', [id, version])
        put(db, 'policies', { ...row, version: to })
        undos.push(() => withFile((again) => remove(again, 'policies', [id, to])))
      }),
    renumberPolicy: async (id, to) =>
      withFile((db) => {
        const row = rowOf(db, 'policies', [id, 1])
        remove(db, 'policies', [id, 1])
        put(db, 'policies', { ...row, version: to, document: renumbered(row.document, to) })
      }),
    // Its entries alone tell the end of a log.
    async shortenLogs() {},
    async undo() {
      for (const undo of undos.splice(0).reverse()) undo()
    },
    async close() {},
  }
}

function onMongodb(database: string): EditedStore {
  const client = new MongoClient(mongoUrl(''))
  const undos: (() => Promise<unknown>)[] = []
  const collectionOf = (table: Table) => client.db(database).collection<AnyDocument>(table)
  const idOf = (table: Table, key: readonly SqlValue[]) => key.join(KEYS[table][1])
  const filterOf = (table: Table, key: readonly SqlValue[]) =>
    table === 'accounts' ? { policy_id: key[0] } : { _id: idOf(table, key) }
  const change = async (table: Table, key: readonly SqlValue[], next: (found: Document) => Document | null) => {
    const collection = collectionOf(table)
    const found: Document | null = await collection.findOne(filterOf(table, key))
    if (found === null) throw new Error(`There is no document ${key.join(' ')} in ${table}.`)
    undos.push(() => collection.replaceOne({ _id: found._id }, found, { upsert: true }))
    const changed = next(found)
    if (changed === null) await collection.deleteOne({ _id: found._id })
    else await collection.replaceOne({ _id: found._id }, changed)
  }
  /** All records of these tables are in one document. @param entries what one becomes, by id; undefined: it goes */
  const changeEntry = async (
    table: Directory,
    id: string,
    entries: (entry: AnyDocument) => Readonly<Record<string, AnyDocument>>,
  ) => {
    const directories = client.db(database).collection<AnyDocument>(DIRECTORIES[table])
    const found = await directories.findOne({ _id: table })
    if (found[table][id] === undefined) throw new Error(`There is no ${id} among the ${table}.`)
    undos.push(() => directories.replaceOne({ _id: table }, found))
    const all = Object.entries({ ...found[table], ...entries(found[table][id]) }).filter(([, one]) => one !== undefined)
    await directories.replaceOne({ _id: table }, { ...found, [table]: Object.fromEntries(all) })
  }
  const putCopy = async (table: Table, key: readonly SqlValue[], to: string, document?: (found: string) => string) => {
    const found = await collectionOf(table).findOne(filterOf(table, key))
    const copy = {
      ...found,
      _id: idOf(table, [to, ...key.slice(1)]),
      document: document?.(found.document) ?? found.document,
    }
    await collectionOf(table).insertOne(table === 'policies' ? { ...copy, policy_id: to } : copy)
    undos.push(() => collectionOf(table).deleteOne({ _id: copy._id }))
  }
  return {
    document: (table, key, edit) =>
      isDirectory(table)
        ? changeEntry(table, String(key[0]), (entry) => ({
            [String(key[0])]: { ...entry, document: edited(entry.document, edit) },
          }))
        : change(table, key, (found) => ({ ...found, document: edited(found.document, edit) })),
    member: (table, key, members) =>
      isDirectory(table)
        ? changeEntry(table, String(key[0]), (entry) => ({ [String(key[0])]: { ...entry, ...members } }))
        : change(table, key, (found) => ({ ...found, ...mongoMembers(members) })),
    remove: (table, key) =>
      isDirectory(table)
        ? changeEntry(table, String(key[0]), () => ({ [String(key[0])]: undefined }))
        : change(table, key, () => null),
    copy: (table, key, to, edit) =>
      isDirectory(table)
        ? changeEntry(table, String(key[0]), (entry) => ({
            [to]: { ...entry, document: edited(entry.document, edit) },
          }))
        : putCopy(table, key, to, (document) => edited(document, edit)),
    async rename(table, key, to) {
      if (isDirectory(table))
        return changeEntry(table, String(key[0]), (entry) => ({ [String(key[0])]: undefined, [to]: entry }))
      await putCopy(table, key, to)
      await change(table, key, () => null)
    },
    async livePolicy(id, to) {
      const revisions = collectionOf('policies')
      const found = await revisions.findOne({ policy_id: id }, { sort: { version: -1 } })
      const copy = { ...found, _id: `${to}/1`, policy_id: to, version: 1, document: forged(found.document, to) }
      await revisions.insertOne(copy)
      undos.push(() => revisions.deleteOne({ _id: copy._id }))
    },
    async copyRevision(id, version, to) {
      const revisions = collectionOf('policies')
      const found = await revisions.findOne({ _id: `${id}/${version}` })
      await revisions.insertOne({ ...found, _id: `${id}/${to}`, version: to })
      undos.push(() => revisions.deleteOne({ _id: `${id}/${to}` }))
    },
    async renumberPolicy(id, to) {
      const revisions = collectionOf('policies')
      const found = await revisions.findOne({ _id: `${id}/1` })
      const renumberedOne = { ...found, _id: `${id}/${to}`, version: to, document: renumbered(found.document, to) }
      await revisions.deleteOne({ _id: found._id })
      await revisions.insertOne(renumberedOne)
      // Else the store refuses the next revision, or writes the first one again.
      await client
        .db(database)
        .collection<AnyDocument>('policy_directory')
        .updateOne({ _id: 'policies' }, { $set: { written: null, [`live.${id}.version`]: to } })
    },
    async shortenLogs() {
      const logs = client.db(database).collection<AnyDocument>('logs')
      for (const found of await logs.find().toArray()) {
        undos.push(() => logs.replaceOne({ _id: found._id }, found))
        await logs.updateOne({ _id: found._id }, { $set: { start: 0, group: [] } })
      }
    },
    async undo() {
      for (const undo of undos.splice(0).reverse()) await undo()
    },
    close: () => client.close(),
  }
}

/** The columns of the embedded store have other names than the members on MongoDB. */
function mongoMembers({ request_context, request_salt, ...members }: Readonly<Record<string, SqlValue>>): Document {
  return {
    ...members,
    ...(request_context !== undefined && { context: request_context }),
    ...(request_salt !== undefined && { salt: request_salt }),
  }
}

function renumbered(document: SqlValue | undefined, version: number): string {
  return edited(document, (policy) => Object.assign(policy, { version }))
}

function forged(document: SqlValue | undefined, id: string): string {
  return edited(document, (policy) => {
    Object.assign(policy, { id, version: 1 })
    Object.assign(policy.document, { name: 'forged' })
  })
}

function edited(document: SqlValue | undefined, edit: (document: AnyDocument) => void): string {
  const value = JSON.parse(String(document))
  edit(value)
  return JSON.stringify(value)
}
