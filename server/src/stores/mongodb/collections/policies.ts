import type { StoredPolicy } from '../../../ports/store/documents.js'
import { DamagedRecordError } from '../../../ports/store/errors.js'
import type { MovedPolicy } from '../../../ports/store/move.js'
import type { Page, PageRequest } from '../../../ports/store/page.js'
import { rowDocument } from '../../../ports/store/row-document.js'
import { allDone } from '../connection/all-done.js'
import type { Database } from '../connection/database.js'
import type { PolicyDirectory, PolicyRevision } from '../stored.js'
import { copyToLog } from './audit.js'
import { hasRoom } from './directory-room.js'
import { rowsAtOnce, takePage } from './pages.js'

/** The id of the directory's only document. */
export const POLICIES = 'policies'

/** The `until_set` of a revision that still applies. */
const OPEN = Number.MAX_SAFE_INTEGER

/** Reads the directory, after its last record was copied to the revisions. */
async function readPolicyDirectory(database: Database): Promise<PolicyDirectory> {
  const directory = (await database.call(() => database.policyDirectory.findOne({ _id: POLICIES }))) as PolicyDirectory
  await keepPolicyRevision(database, directory)
  return directory
}

/** Copies the policy of the directory's last record to the revisions. Repeating it changes nothing. */
export async function keepPolicyRevision(
  database: Database,
  { written }: Pick<PolicyDirectory, 'written'>,
): Promise<void> {
  if (written === null) return
  const policy = JSON.parse(written) as StoredPolicy
  const { id, version, policy_set, deleted_at } = policy
  await database.call(() =>
    database.policies.updateMany(
      { policy_id: id, until_set: OPEN, from_set: { $lt: policy_set } },
      { $set: { until_set: policy_set, deleted_at } },
    ),
  )
  if (deleted_at !== null) return
  const revision: PolicyRevision = {
    _id: revisionId(id, version),
    policy_id: id,
    version,
    from_set: policy_set,
    until_set: OPEN,
    deleted_at: null,
    document: written,
  }
  await database.insertNew(database.policies, [revision])
}

/** Writes revisions that no process changes. Each write and each deletion of a policy incremented the set. */
export async function insertRevisions(database: Database, revisions: readonly MovedPolicy[]): Promise<void> {
  if (revisions.length === 0) return
  await database.insertNew(database.policies, revisions.map(movedDocument))
  const live = revisions.flatMap(({ policy: { id, version, document }, until_set }) =>
    until_set === null ? [[`live.${id}`, { version, name: document.name }] as const] : [],
  )
  const policy_set = Math.max(...revisions.map(({ policy, until_set }) => until_set ?? policy.policy_set))
  const update = { $max: { policy_set }, ...(live.length > 0 && { $set: Object.fromEntries(live) }) }
  await database.call(() => database.policyDirectory.updateOne({ _id: POLICIES }, update))
}

export async function findRevisions(
  database: Database,
  revisions: readonly MovedPolicy[],
): Promise<readonly (MovedPolicy | null)[]> {
  const idOf = ({ policy: { id, version } }: MovedPolicy) => revisionId(id, version)
  return database.findInOrder(database.policies, revisions.map(idOf), (document) => {
    const { until_set, deleted_at } = document
    return { policy: policyOf(document), until_set: until_set === OPEN ? null : until_set, deleted_at }
  })
}

function movedDocument({ policy, until_set, deleted_at }: MovedPolicy): PolicyRevision {
  const { id, version, policy_set } = policy
  return {
    _id: revisionId(id, version),
    policy_id: id,
    version,
    from_set: policy_set,
    until_set: until_set ?? OPEN,
    deleted_at,
    document: JSON.stringify(policy),
  }
}

/** Completes the last record of the directory: its revision and its entry. */
export async function finishPolicyRecord(database: Database, directory: PolicyDirectory): Promise<void> {
  await allDone([keepPolicyRevision(database, directory), copyToLog(database, [directory.last])])
}

/** A policy can always be deleted, or changed under its name. */
export function hasRoomForPolicy(
  live: PolicyDirectory['live'],
  { id, version, document: { name } }: StoredPolicy,
): boolean {
  const present = live[id]
  if (present?.name === name) return true
  return hasRoom({ ...live, [id]: { version, name } }, present === undefined ? 'new' : 'more')
}

/** A deletion incremented the version, although it is not a revision. 0 for a policy that never existed. */
export async function lastVersion(database: Database, id: string): Promise<number> {
  const last = await database.call(() =>
    database.policies.findOne({ policy_id: { $eq: id } }, { sort: { version: -1 }, projection: { document: 0 } }),
  )
  if (last === null) return 0
  return last.version + (last.deleted_at === null ? 0 : 1)
}

export async function loadPolicies(
  database: Database,
): Promise<{ readonly policy_set: number; readonly policies: readonly StoredPolicy[] }> {
  const { policy_set } = await readPolicyDirectory(database)
  return { policy_set, policies: await loadPoliciesOfSet(database, policy_set) }
}

/** For a set whose revisions are all stored: it no longer changes. */
export async function loadPoliciesOfSet(database: Database, policySet: number): Promise<readonly StoredPolicy[]> {
  const found = await database.call(() => database.policies.find(ofSet(policySet)).toArray())
  return found.map(policyOf)
}

/** Only the revisions say which ones apply in a set, so that a list has every revision that decisions are made by. */
function ofSet(policySet: number) {
  return { until_set: { $gt: policySet }, from_set: { $lte: policySet } }
}

export async function listPolicies(database: Database, page: PageRequest): Promise<Page<StoredPolicy>> {
  const { policy_set } = await readPolicyDirectory(database)
  const counting = await database.call(() =>
    database.policies
      .find(ofSet(policy_set))
      .project<Pick<PolicyRevision, '_id' | 'policy_id'>>({ policy_id: 1 })
      .toArray(),
  )
  const ids = counting
    .filter(({ policy_id }) => page.after === null || policy_id < page.after)
    .sort((one, other) => (one.policy_id < other.policy_id ? 1 : -1))
    .map(({ _id }) => _id)
  const count = rowsAtOnce(page)
  async function* revisions() {
    for (let done = 0; done < ids.length; done += count) {
      const names = ids.slice(done, done + count)
      const found = await database.call(() => database.policies.find({ _id: { $in: names } }).toArray())
      yield* found.sort((one, other) => (one.policy_id < other.policy_id ? 1 : -1))
    }
  }
  return takePage(revisions(), page, { make: policyOf, nameOf: ({ policy_id }) => policy_id })
}

export async function listPolicyRevisions(
  database: Database,
  id: string,
  page: PageRequest,
): Promise<Page<StoredPolicy>> {
  await readPolicyDirectory(database)
  const count = rowsAtOnce(page)
  async function* revisions() {
    for (let before = page.after === null ? OPEN : Number(page.after); ; ) {
      const found = await database.call(() =>
        database.policies
          .find({ policy_id: { $eq: id }, version: { $lt: before } })
          .sort({ version: -1 })
          .limit(count)
          .toArray(),
      )
      yield* found
      if (found.length < count) return
      before = found.at(-1)?.version as number
    }
  }
  return takePage(revisions(), page, {
    make: revisionOf,
    nameOf: ({ version }) => String(version),
  })
}

export async function findPolicyRevision(
  database: Database,
  id: string,
  revision: number,
): Promise<StoredPolicy | null> {
  await readPolicyDirectory(database)
  const found = await database.findById(database.policies, revisionId(id, revision))
  return found === null ? null : revisionOf(found)
}

/** As it is now: the last revision of a deleted policy says when it was deleted. */
function revisionOf(revision: PolicyRevision): StoredPolicy {
  return { ...policyOf(revision), deleted_at: revision.deleted_at }
}

function policyOf({ _id, policy_id: id, version, document }: PolicyRevision): StoredPolicy {
  if (_id !== revisionId(id, version)) throw new DamagedRecordError('policy', _id, 'id', id)
  return rowDocument('policy', { id, version }, document)
}

function revisionId(id: string, version: number): string {
  return `${id}/${version}`
}
