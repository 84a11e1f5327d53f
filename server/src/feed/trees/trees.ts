/**
 * Keeps the Merkle trees of all logs as a reader of them, and signs checkpoints. A checkpoint is made of a tree that goes on
 * from the stored one, and is stored together with it before anybody sees it: so no two that were shown contradict each other.
 */
import { setImmediate } from 'node:timers/promises'
import {
  checkpointText,
  leafHashOfText,
  MerkleTree,
  noteKeyId,
  noteText,
  type PerfectNode,
  SIGNATURE_TYPES,
} from '@countersign/audit-log'
import { KeyedMutex } from '@countersign/concurrency'
import type { AuditEntry } from '@countersign/contract'
import type { Positions, StoredCheckpoint, StoredNode } from '@countersign/store-port/feed'
import type { Clock } from '../../ports/clock.js'
import type { TextSignature } from '../../ports/signer.js'
import {
  hashOf,
  type LogCheckpoint,
  originOf,
  ROOT_TREE,
  type SignedCheckpoint,
  STORED_LEVEL,
  stateOf,
  TREES_READER,
  textOf,
  treeOf,
  treesOf,
} from '../../use-cases/audit/trees.js'
import { behind, positionsAtEnd } from '../log-reader.js'
import { Reader, type ReaderDeps } from '../reader.js'

export interface TreesDeps extends ReaderDeps {
  readonly clock: Clock
  /** What the origins of the checkpoints begin with. */
  readonly issuer: string
  /** Signs with the server's active key. */
  readonly sign: (text: string) => Promise<TextSignature>
}

const SAVE_EVERY_MS = 1000
const SAVE_EVERY_ENTRIES = 256
/** A turn, or a call that waits for the trees, is at work for so long. */
const SHARE_MS = 2000

/** Another process has the reader now. */
class ReaderLostError extends Error {}

/** A tree in memory. */
interface Growing<Signed extends SignedCheckpoint> {
  readonly tree: MerkleTree
  checkpoint: Signed | null
}

/** What this process has added since it took the reader. */
interface Work {
  readonly fence: number
  readonly logs: Map<string, Growing<LogCheckpoint>>
  readonly root: Growing<SignedCheckpoint>
  /** Behind what is in the trees. */
  positions: Positions
  /** Entries that are in the trees and not saved. */
  unsaved: number
  nodes: StoredNode[]
}

export class Trees {
  readonly #reader: Reader
  readonly #mutex = new KeyedMutex()
  #work: Work | null = null
  #savedAtMs = Number.NEGATIVE_INFINITY

  constructor(private readonly deps: TreesDeps) {
    this.#reader = new Reader(deps, TREES_READER)
  }

  /** Reads on to the end of the logs, or does a share of it. What was read last may be saved by a later turn. */
  turn(): Promise<void> {
    return this.#exclusively('turn', async () => {
      await this.#readOn(null)
      if (this.#work !== null && this.deps.monotonicMs() - this.#savedAtMs >= SAVE_EVERY_MS)
        await this.#save(this.#work)
    })
  }

  /** What is durable now is under a checkpoint afterwards, unless that takes long, or another process has the reader. */
  catchUp(): Promise<void> {
    return this.#exclusively('catch up', async () => {
      await this.#readOn(await positionsAtEnd(this.deps.store))
      if (this.#work !== null) await this.#save(this.#work)
    })
  }

  /** Whatever fails: what is stored counts, and memory is made anew from it. */
  #exclusively(name: string, work: () => Promise<void>): Promise<void> {
    return this.#mutex.join(name, () =>
      this.#mutex.run('all', async () => {
        try {
          await work()
        } catch (error) {
          this.#work = null
          this.#reader.forget()
          if (!(error instanceof ReaderLostError)) throw error
        }
      }),
    )
  }

  /** @param ends where to stop; null for the end of the logs, which moves */
  async #readOn(ends: Positions | null): Promise<void> {
    const untilMs = this.deps.monotonicMs() + SHARE_MS
    for (let work = await this.#hold(); work !== null; work = await this.#hold()) {
      if (ends !== null && isAt(work.positions, ends)) return
      const { entries } = await this.#reader.read(SAVE_EVERY_ENTRIES, work.positions)
      for (const entry of entries) {
        add(work, entry)
        if (work.unsaved >= SAVE_EVERY_ENTRIES) await this.#save(work)
      }
      if (entries.length === 0 || this.deps.monotonicMs() > untilMs) return
      // Others in this thread get their turn.
      await setImmediate()
    }
  }

  /** The trees of this process; null while another one has the reader. */
  async #hold(): Promise<Work | null> {
    const held = await this.#reader.hold()
    if (held === null || held.fence !== this.#work?.fence) this.#work = null
    if (held === null || this.#work !== null) return this.#work
    const { logs, root } = treesOf(held.state)
    this.#work = {
      fence: held.fence,
      logs: new Map(
        Object.entries(logs).map(([log, { tree, checkpoint }]) => [log, { tree: new MerkleTree(tree), checkpoint }]),
      ),
      root: { tree: new MerkleTree(root.tree), checkpoint: root.checkpoint },
      positions: held.positions ?? {},
      unsaved: 0,
      nodes: [],
    }
    return this.#work
  }

  /** @throws ReaderLostError */
  async #save(work: Work): Promise<void> {
    if (work.unsaved === 0) return
    const { logs, root, positions } = work
    const checkpoints: StoredCheckpoint[] = []
    for (const [log, growing] of logs) {
      if (growing.tree.size === (growing.checkpoint?.size ?? 0)) continue
      const index = root.tree.size
      const checkpoint = { index, ...(await this.#checkpointOf(treeOf(log), growing.tree)) }
      growing.checkpoint = checkpoint
      keep(work, ROOT_TREE, root.tree.append(leafHashOfText(checkpoint.note)))
      checkpoints.push({ log, ...checkpoint })
    }
    root.checkpoint = await this.#checkpointOf(ROOT_TREE, root.tree)
    const state = stateOf({
      logs: Object.fromEntries([...logs].map(([log, kept]) => [log, { ...kept, tree: kept.tree.state }])),
      root: { ...root, tree: root.tree.state },
    })
    const isSaved = await this.#reader.save({ positions, state, nodes: work.nodes, checkpoints })
    if (!isSaved) throw new ReaderLostError('Another process has the reader.')
    work.unsaved = 0
    work.nodes = []
    this.#savedAtMs = this.deps.monotonicMs()
  }

  async #checkpointOf(name: string, tree: MerkleTree): Promise<SignedCheckpoint> {
    const { clock, issuer, sign } = this.deps
    const origin = originOf(issuer, name)
    const created_at = clock.now().toISOString()
    const text = checkpointText({ origin, size: tree.size, root: tree.root() })
    const { publicKey, signature } = await sign(text)
    const keyId = noteKeyId({ name: origin, type: SIGNATURE_TYPES.ed25519, publicKey: hashOf(publicKey) })
    const note = noteText({ text, signatures: [{ name: origin, keyId, signature: hashOf(signature) }] })
    return { size: tree.size, created_at, note }
  }
}

function add(work: Work, entry: AuditEntry): void {
  const { log, index, leaf } = entry
  const growing = work.logs.get(log) ?? { tree: new MerkleTree(), checkpoint: null }
  work.logs.set(log, growing)
  if (growing.tree.size !== index)
    throw new Error(`The tree of the log ${log} has ${growing.tree.size} leaves, and the next entry is ${index}.`)
  keep(work, treeOf(log), growing.tree.append(hashOf(leaf)))
  work.positions = behind(work.positions, entry)
  work.unsaved += 1
}

function keep(work: Work, tree: string, nodes: readonly PerfectNode[]): void {
  for (const { level, index, hash } of nodes)
    if (level >= STORED_LEVEL) work.nodes.push({ tree, level, index, hash: textOf(hash) })
}

function isAt(positions: Positions, ends: Positions): boolean {
  return Object.entries(ends).every(([log, index]) => (positions[log] ?? 0) >= index)
}
