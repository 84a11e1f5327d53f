/** Somebody who writes into the database, and has neither the signing keys nor the data directory. */
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { leafHash } from '@countersign/audit-log'
import type { AuditEntry } from '@countersign/contract'
import { type Document, MongoClient } from 'mongodb'
import { databaseOf, ON_MONGODB } from './open-test-store.js'
import { mongoUrl } from './stores/mongodb/open-mongo-store.js'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

export interface Intruder {
  /** Replaces an entry, with the leaf hash that fits, or with the one that it had. */
  changeEntry(log: string, index: number, change: Change, keepsLeaf?: boolean): Promise<void>
  /** Removes an entry of a log; all of them without an index. */
  removeEntries(log: string, index?: number): Promise<void>
  removeNodes(): Promise<void>
  /** Those from this place in the root log on; all of them without it. */
  removeCheckpoints(from?: number): Promise<void>
  removeReader(): Promise<void>
  /** What the reader of the trees has stored, to put it back later. */
  readTrees(): Promise<string | null>
  writeTrees(document: string): Promise<void>
  /** Copies the whole store while no server runs. Gives what puts it back. */
  copyStore(): Promise<() => Promise<void>>
}

type Change = (entry: AuditEntry) => AuditEntry

/** Removes the trees, the checkpoints and the reader: the server makes all of it of what it finds. */
export async function forgetTrees(intruder: Intruder): Promise<void> {
  await intruder.removeNodes()
  await intruder.removeCheckpoints()
  await intruder.removeReader()
}

/** @param database on MongoDB: its name, where it is not that of the data directory */
export function intruderOf(dataDir: string, database = databaseOf(dataDir)): Intruder {
  return ON_MONGODB ? inMongodb(database) : inEmbedded(dataDir)
}

function changedText(text: string, change: Change, keepsLeaf = false): string {
  const { leaf, ...changed } = change(JSON.parse(text))
  return JSON.stringify({ ...changed, leaf: keepsLeaf ? leaf : leafHash(changed) })
}

function inEmbedded(dataDir: string): Intruder {
  const file = join(dataDir, 'countersign.db')
  /** In a process of its own: what it has open of the database ends with it. */
  const sql = (statement: string, ...values: readonly (string | number)[]): Readonly<Record<string, string>>[] => {
    const isInUse = existsSync(`${file}-wal`)
    const program = `
      const db = new (require('libsql'))(${JSON.stringify(file)})
      db.exec('PRAGMA busy_timeout = 5000')
      const [statement, values] = ${JSON.stringify([statement, values])}
      const prepared = db.prepare(statement)
      const rows = statement.startsWith('SELECT') ? prepared.all(values) : (prepared.run(values), [])
      require('fs').writeSync(1, JSON.stringify(rows))
      // Closing the last connection would remove the log from under a server in this process, whose locks are not seen.
      if (${isInUse}) process.kill(process.pid, 'SIGKILL')`
    const { stdout } = spawnSync(process.execPath, ['-e', program], { cwd: ROOT, encoding: 'utf8' })
    const rows = JSON.parse(stdout)
    // The sums of a stopped server lie beside the database, in the hands of the same person.
    if (!isInUse) rmSync(`${file}-sums`, { force: true })
    return rows
  }
  const at = 'WHERE log = ? AND log_index = ?'
  return {
    async changeEntry(log, index, change, keepsLeaf) {
      const [row] = sql(`SELECT document FROM audit_entries ${at}`, log, index)
      const document = changedText(row?.document as string, change, keepsLeaf)
      sql(`UPDATE audit_entries SET document = ? ${at}`, document, log, index)
    },
    async removeEntries(log, index) {
      if (index === undefined) sql('DELETE FROM audit_entries WHERE log = ?', log)
      else sql(`DELETE FROM audit_entries ${at}`, log, index)
    },
    removeNodes: async () => void sql('DELETE FROM tree_nodes'),
    removeCheckpoints: async (from = 0) => void sql('DELETE FROM log_checkpoints WHERE root_index >= ?', from),
    removeReader: async () => void sql("DELETE FROM readers WHERE name = 'trees'"),
    readTrees: async () => sql("SELECT document FROM readers WHERE name = 'trees'")[0]?.document ?? null,
    writeTrees: async (document) => void sql("UPDATE readers SET document = ? WHERE name = 'trees'", document),
    async copyStore() {
      const copy = mkdtempSync(join(tmpdir(), 'copied-store-'))
      const names = () => readdirSync(dataDir).filter((name) => name.startsWith('countersign.db'))
      for (const name of names()) cpSync(join(dataDir, name), join(copy, name))
      return async () => {
        for (const name of names()) rmSync(join(dataDir, name))
        for (const name of readdirSync(copy)) cpSync(join(copy, name), join(dataDir, name))
        rmSync(copy, { recursive: true })
      }
    },
  }
}

function inMongodb(database: string): Intruder {
  const run = async <T>(work: (collection: (name: string) => ReturnType<typeof collectionOf>) => Promise<T>) => {
    const client = new MongoClient(mongoUrl(database))
    try {
      return await work((name) => collectionOf(client, database, name))
    } finally {
      await client.close()
    }
  }
  return {
    changeEntry: (log, index, change, keepsLeaf) =>
      run(async (collection) => {
        const _id = `${log}/${index}`
        const found = await collection('audit').findOne({ _id })
        const document = changedText(found?.document, change, keepsLeaf)
        await collection('audit').updateOne({ _id }, { $set: { document } })
      }),
    removeEntries: (log, index) =>
      run(async (collection) => {
        await collection('audit').deleteMany(index === undefined ? { log } : { _id: `${log}/${index}` })
      }),
    removeNodes: () => run(async (collection) => void (await collection('tree_nodes').deleteMany({}))),
    removeCheckpoints: (from = 0) =>
      run(async (collection) => {
        // The order of the ids, which are texts, is that of the places.
        const _id = { $gte: String(from).padStart(16, '0') }
        await collection('log_checkpoints').deleteMany({ _id })
        // The last save is kept with its reader, in case that it did not get into the collections.
        const trees = (await collection('readers').findOne({ _id: 'trees' }))?.trees
        if (trees == null) return
        const saved = JSON.parse(trees)
        const checkpoints = saved.checkpoints.filter(({ index }: { readonly index: number }) => index < from)
        const $set = { trees: JSON.stringify({ ...saved, checkpoints }) }
        await collection('readers').updateOne({ _id: 'trees', trees }, { $set })
      }),
    removeReader: () => run(async (collection) => void (await collection('readers').deleteOne({ _id: 'trees' }))),
    readTrees: () =>
      run(async (collection) => (await collection('readers').findOne({ _id: 'trees' }))?.document ?? null),
    writeTrees: (document) =>
      run(async (collection) => {
        // What the last save had of the trees would follow it.
        const $set = { document, trees: null }
        await collection('readers').updateOne({ _id: 'trees' }, { $set })
      }),
    async copyStore() {
      const copied = new Map<string, Document[]>()
      const client = new MongoClient(mongoUrl(database))
      const db = client.db(database)
      for (const { name } of await db.listCollections().toArray())
        copied.set(name, await db.collection(name).find().toArray())
      return async () => {
        for (const [name, documents] of copied) {
          await db.collection(name).deleteMany({})
          if (documents.length > 0) await db.collection(name).insertMany(documents)
        }
        await client.close()
      }
    },
  }
}

function collectionOf(client: MongoClient, database: string, name: string) {
  return client.db(database).collection<Document & { _id: string }>(name)
}
