/**
 * Keeps the Merkle trees of all logs, as a reader of them, and signs checkpoints. A checkpoint covers a tree that
 * extends what this server has signed or seen before, which it remembers outside of the database. It is remembered
 * before the root log is signed, and stored before it is shown: so no two checkpoints that were shown contradict each
 * other, no matter what happens to the store.
 */
import { randomBytes } from 'node:crypto'
import {
  checkpointText,
  type MerkleTree,
  noteKeyId,
  noteText,
  parseCheckpoint,
  parseNote,
  SIGNATURE_TYPES,
} from '@countersign/audit-log'
import type { CheckpointMemory, Remembered, UnsavedCheckpoints } from '../../ports/checkpoint-memory.js'
import type { Clock } from '../../ports/clock.js'
import type { Log } from '../../ports/log.js'
import type { TextSignature } from '../../ports/signer.js'
import type { LogPosition } from '../../ports/store/audit.js'
import type { FeedStore, Positions, StoredCheckpoint } from '../../ports/store/feed.js'
import { MissingHashError, type TreeReads } from '../../use-cases/audit/tree-hashes.js'
import {
  hashOf,
  type KeptTrees,
  originOf,
  ROOT_TREE,
  type RootPlace,
  type SignedCheckpoint,
  TREES_READER,
  textOf,
  treeOf,
  treesOf,
} from '../../use-cases/audit/trees.js'
import { KeptWork } from '../kept-work.js'
import type { Held, ReaderDeps } from '../reader.js'
import { gapText } from './find-gap.js'
import { type CheckpointKeys, goingOn } from './going-on.js'
import { LastEntries } from './last-entries.js'
import { RewrittenError } from './rewritten-error.js'
import { TreeRoots, treesAsRemembered } from './tree-roots.js'
import {
  addCheckpoint,
  addEntry,
  batchOf,
  emptyWork,
  logOf,
  newRoot,
  positionsOf,
  rootOfWork,
  type Work,
  workOn,
} from './work.js'

/** What the operator accepts, or why there is nothing to accept: sentences for a person. */
export type Acceptable = { readonly found: string } | { readonly refused: string }

export interface TreesDeps extends ReaderDeps {
  readonly store: ReaderDeps['store'] & Pick<FeedStore, 'readers' | 'trees'>
  /** The same store, for checks: they read what it really contains, and nothing that this process remembers of it. */
  readonly checked: TreeReads
  readonly clock: Clock
  readonly log: Log
  readonly memory: CheckpointMemory
  /** The prefix of the origins of the checkpoints. */
  readonly issuer: string
  /** Called when a rewrite is found and when it ends. */
  readonly onRewritten: (isRewritten: boolean) => void
  /** Called when the number of logs changes that lack an entry which no checkpoint covers. */
  readonly onGaps: (logs: number) => void
  /** Signs with the server's active key. */
  readonly sign: (text: string) => Promise<TextSignature>
  readonly checkpointKeys: CheckpointKeys
}

const SAVE_EVERY_MS = 1000
const SAVE_EVERY_ENTRIES = 256
/** How often the store is compared with the remembered checkpoints, and with those that other servers have signed. */
const LOOK_EVERY_MS = 2000
/** The number of index places that each root log gets. */
const ROOM = 2 ** 40

const NOTHING_TO_ACCEPT = 'The audit log continues from what this server has signed. There is nothing to accept.'
const OTHERS_SIGN =
  'Another server signs the audit log, under a name that this server has signed. Stop the other servers, wait half a minute, and run the command again.'

export class Trees extends KeptWork<TreesDeps, Work> {
  readonly #lastEntries = new LastEntries(this.deps.checked)
  readonly #roots = new TreeRoots()
  #lookedAtMs = Number.NEGATIVE_INFINITY
  #rewritten: string | null = null
  #gaps: ReadonlySet<string> = new Set()

  constructor(deps: TreesDeps) {
    super(deps, TREES_READER)
  }

  /** Reads to the end of the logs, or a share of the way. A later turn may save what was read last. */
  turn(): Promise<void> {
    return this.exclusively('turn', async () => {
      if (this.deps.monotonicMs() - this.#lookedAtMs >= LOOK_EVERY_MS) await this.#look()
      await this.readAndSave(SAVE_EVERY_MS)
    })
  }

  async check(): Promise<string | null> {
    await this.exclusively('check', () => this.#look())
    return this.#rewritten
  }

  async toAccept(): Promise<Acceptable> {
    const found = await this.check()
    if (found === null) return { refused: NOTHING_TO_ACCEPT }
    const isOthers = (await this.#acceptance()) === 'others'
    return isOthers ? { refused: OTHERS_SIGN } : { found }
  }

  /**
   * Accepts the store as it is: the root log to which another server has switched since, or else a new root log over
   * the existing entries.
   */
  async acceptRewrite(): Promise<void> {
    await this.exclusively('accept', async () => {
      const acceptance = await this.#acceptance()
      if (acceptance === 'others') return
      const { memory } = this.deps
      await memory.replace(acceptance === 'new' ? newRoot(newRootName()) : treesAsRemembered(await this.#stored()))
      this.work = null
      this.#lastEntries.forget()
      this.reader.forget()
      this.#found(null)
      // Afterwards the root log that is shown is the new one.
      await this.readAndSave(0)
    })
  }

  /**
   * `stored`: the root log of the store. `new`: a root log that begins. `others`: another server signs one of that
   * name.
   */
  async #acceptance(): Promise<'stored' | 'new' | 'others'> {
    const remembered = await this.deps.memory.read()
    const { root } = await this.#stored()
    // If an abandoned root log reappeared, this server would continue to sign it from there.
    const isOther =
      remembered.kind !== 'trees' || (remembered.root.name !== root.name && !remembered.givenUp.includes(root.name))
    // A store without a checkpoint does not tell which names were signed.
    if (isOther && root.checkpoint !== null) return 'stored'
    return (await this.reader.hold()) === null ? 'others' : 'new'
  }

  protected override failed(error: unknown): void {
    this.reader.forget()
    if (error instanceof RewrittenError) this.#found(error.message)
    else super.failed(error)
  }

  #found(rewritten: string | null): void {
    if (rewritten !== null && this.#rewritten === null)
      this.deps.log.error(
        { found: rewritten },
        'the audit log does not continue from what this server has signed: it signs nothing until the store is restored, or an operator runs countersign audit accept-rewrite',
      )
    if (rewritten === null && this.#rewritten !== null)
      this.deps.log.warn({}, 'the audit log continues from what this server has signed: it signs again')
    if ((rewritten === null) !== (this.#rewritten === null)) this.deps.onRewritten(rewritten !== null)
    this.#rewritten = rewritten
  }

  protected positionsOf(work: Work): Positions {
    return positionsOf(work)
  }

  protected async readSome(work: Work): Promise<number> {
    const { entries, gaps } = await this.reader.read(SAVE_EVERY_ENTRIES, positionsOf(work))
    this.#tellGaps(gaps)
    for (const entry of entries) {
      addEntry(work, entry)
      if (work.unsaved >= SAVE_EVERY_ENTRIES) await this.save(work)
    }
    return entries.length
  }

  /** Reports each gap once. */
  #tellGaps(gaps: readonly LogPosition[]): void {
    const texts = new Map(gaps.map((gap) => [gapText(gap), gap]))
    for (const [found, gap] of texts)
      if (!this.#gaps.has(found)) this.deps.log.error({ ...gap, found }, 'the audit log has a gap: restore the store')
    if (texts.size !== this.#gaps.size) this.deps.onGaps(texts.size)
    this.#gaps = new Set(texts.keys())
  }

  protected override async hold(): Promise<Work | null> {
    const work = await super.hold()
    // Another process has the trees, and reports the gaps.
    if (work === null) this.#tellGaps([])
    return work
  }

  /** Continues from the state of the store, if that extends what is remembered. @throws RewrittenError */
  protected async takeUp(held: Held): Promise<Work> {
    const stored = treesOf(held.state)
    const remembered = await this.deps.memory.read()
    if (remembered.kind === 'unreadable') throw new RewrittenError(remembered.why)
    if (remembered.kind === 'restored') return this.#afterRestore(held.fence, stored)
    if (remembered.kind === 'nothing' || hasSeenNone(remembered)) {
      await this.#adopt(stored, remembered)
      return workOn(held.fence, stored)
    }
    if (isBeginning(remembered, stored)) return emptyWork(held.fence, await this.#freePlace(remembered.root.name))
    const found = await this.#compared(stored, remembered)
    if (found === 'unsaved') return this.#redo(workOn(held.fence, stored), remembered.unsaved as UnsavedCheckpoints)
    return workOn(held.fence, stored)
  }

  /** Accepts the store as it is, because this server has signed and seen nothing. */
  async #adopt(stored: KeptTrees, remembered: Remembered): Promise<void> {
    const { size: checkpoints } = stored.root.tree
    if (checkpoints === 0 && remembered.kind === 'trees') return
    const isUpgraded = remembered.kind === 'nothing' && !remembered.isNew
    if (checkpoints > 0 || isUpgraded)
      this.deps.log.warn(
        { checkpoints },
        'DATA_DIR holds no checkpoint: this server trusts the audit log as it is stored.',
      )
    await this.deps.memory.replace(treesAsRemembered(stored))
  }

  /** Remembers the state of the store, if it extends what was remembered. @throws RewrittenError */
  async #compared(stored: KeptTrees, remembered: Extract<Remembered, { readonly kind: 'trees' }>) {
    const found = await goingOn(this.deps.checked, stored, remembered, this.deps.checkpointKeys, this.#roots).catch(
      (error) => {
        throw error instanceof MissingHashError ? new RewrittenError(error.message) : error
      },
    )
    if (found !== 'ahead') return found
    const { root, logs } = this.#roots.ofSigned(stored)
    const isNew = ([log, { size }]: readonly [string, { readonly size: number }]) =>
      size !== remembered.logs.get(log)?.size
    await this.deps.memory.noteSeen({ root, logs: new Map([...logs].filter(isNew)) })
    return found
  }

  /** Compares the store with what is remembered, also while another process has the reader. */
  async #look(): Promise<void> {
    this.#lookedAtMs = this.deps.monotonicMs()
    const isOurs = (await this.hold()) !== null
    const stored = await this.#stored()
    const remembered = await this.deps.memory.read()
    if (remembered.kind === 'unreadable') throw new RewrittenError(remembered.why)
    const isEmpty = remembered.kind !== 'trees' || hasSeenNone(remembered)
    if (isEmpty) await this.#adopt(stored, remembered)
    else if (isOurs && isBeginning(remembered, stored)) return this.#found(null)
    else await this.#compared(stored, remembered)
    await this.#lastEntries.look(stored)
    this.#found(null)
  }

  async #stored(): Promise<KeptTrees> {
    return treesOf((await this.deps.store.readers.get(TREES_READER))?.state ?? {})
  }

  /** Continues the root log under a new name. Its first checkpoint is the last one under the former name. */
  async #afterRestore(fence: number, stored: KeptTrees): Promise<Work> {
    const { memory } = this.deps
    const name = newRootName()
    const { checkpoint } = stored.root
    if (checkpoint === null) {
      await memory.replace(newRoot(name))
      return emptyWork(fence, await this.#freePlace(name))
    }
    const work = workOn(fence, stored, { ...stored.root, name })
    const checkpoints = [addCheckpoint(work, stored.root.name, checkpoint)]
    const unsaved = { root: rootOfWork(work), checkpoints }
    const { logs, root } = treesAsRemembered(stored)
    await memory.replace({ logs, root: { ...root, name } }, unsaved)
    return this.#redo(workOn(fence, stored), unsaved)
  }

  /** Repeats exactly the checkpoints that were about to be signed when the process ended. */
  async #redo(before: Work, { root, checkpoints }: UnsavedCheckpoints): Promise<Work> {
    const { place } = before
    const work: Work = { ...before, place: { ...place, name: root.name } }
    for (const { log, size, created_at, note } of checkpoints) {
      const signed = { size, created_at, note }
      // Otherwise it is the last one under the former name.
      if (log !== place.name) {
        const growing = await this.#grown(work, log, size)
        const { root: known } = parseCheckpoint(parseNote(note).text)
        if (textOf(growing.tree.root()) !== textOf(known)) throw differs(root.size)
        growing.checkpoint = { ...signed, index: work.root.tree.size }
      }
      addCheckpoint(work, log, signed)
    }
    if (rootOfWork(work).root !== root.root) throw differs(root.size)
    await this.#store(work, checkpoints)
    return work
  }

  /** Reads a log up to a size. */
  async #grown(work: Work, log: string, size: number) {
    const growing = logOf(work, log)
    const { tree } = growing
    while (tree.size < size) {
      const entries = await this.deps.store.audit.read(log, tree.size, Math.min(SAVE_EVERY_ENTRIES, size - tree.size))
      if (entries.length === 0)
        throw new RewrittenError(
          `This server has signed ${size} entries of log ${log}, and entry ${tree.size} is missing.`,
        )
      for (const entry of entries) addEntry(work, entry)
    }
    return growing
  }

  protected async save(work: Work): Promise<void> {
    if (work.unsaved === 0) return
    const checkpoints: StoredCheckpoint[] = []
    for (const [log, growing] of work.logs) {
      if (growing.tree.size === (growing.checkpoint?.size ?? 0)) continue
      const signed = await this.#checkpointOf(treeOf(log), growing.tree)
      growing.checkpoint = { ...signed, index: work.root.tree.size }
      checkpoints.push(addCheckpoint(work, log, signed))
    }
    // None of these checkpoints was shown yet, and none will be before it is stored.
    await this.deps.memory.noteUnsaved({ root: rootOfWork(work), checkpoints })
    await this.#store(work, checkpoints)
  }

  /** Signs the root log after it is remembered, and stores it. @throws ReaderLostError */
  async #store(work: Work, checkpoints: readonly StoredCheckpoint[]): Promise<void> {
    work.root.checkpoint = await this.#checkpointOf(work.place.name, work.root.tree)
    await this.saveBatch(batchOf(work, checkpoints))
    await this.deps.memory.noteSaved()
    work.unsaved = 0
    work.nodes = []
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

  /** Returns a place where no checkpoint of an earlier root log is. */
  async #freePlace(name: string): Promise<RootPlace> {
    let base = ROOM
    while ((await this.deps.store.trees.listCheckpoints(base, 1)).length > 0) base += ROOM
    return { name, base, nodes: `${name}/` }
  }
}

/** Whether this server has neither signed nor seen a checkpoint: the root log had its first name then. */
function hasSeenNone({ root, unsaved }: Extract<Remembered, { readonly kind: 'trees' }>): boolean {
  return root.size === 0 && root.name === ROOT_TREE && unsaved === null
}

/** Whether the remembered root log has signed nothing, and the store has another one. */
function isBeginning({ root }: { readonly root: { readonly name: string; readonly size: number } }, stored: KeptTrees) {
  return root.size === 0 && root.name !== stored.root.name
}

function newRootName(): string {
  return `${ROOT_TREE}.${randomBytes(6).toString('base64url')}`
}

function differs(size: number): RewrittenError {
  return new RewrittenError(
    `This server was about to sign ${size} checkpoints, and the entries beneath the last ones differ.`,
  )
}
